import type { Clock } from '../../kubernetes/clock.ts';
import { systemClock } from '../../kubernetes/clock.ts';

/** A wait looks at once what it waits for, not after five seconds; deadlines are as they are. */
export const quickLooks: Clock = {
  now: () => systemClock.now(),
  sleep: (milliseconds, signal) => systemClock.sleep(milliseconds === 5000 ? 10 : milliseconds, signal),
};
