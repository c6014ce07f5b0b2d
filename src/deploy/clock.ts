import { setTimeout as delay } from 'node:timers/promises';

/** The deployer's source of time. */
export interface Clock {
  now(): Date;
  /** Resolves after the given milliseconds, or at once if the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => new Date(),
  sleep: async (milliseconds, signal) => {
    try {
      await delay(milliseconds, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      if (signal?.aborted !== true) throw error;
    }
  },
};

/** Formats a time in whole seconds, as bosh writes times into metadata. */
export function rfc3339(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
