/** What a command of the broker gets from its process. */
export interface CommandIo {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  /** Aborted when the broker has to stop. */
  readonly signal: AbortSignal;
  /** Somebody reads what is printed, and may paste it. */
  readonly isTerminal: boolean;
}

export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => {
    signal.addEventListener('abort', resolve, { once: true });
  });
}
