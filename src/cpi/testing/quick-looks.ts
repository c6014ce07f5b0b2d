import { type Clock, systemClock } from '../../platform/clock.ts';

/** A clock with which a wait polls after 10 ms instead of five seconds; deadlines do not change. */
export const quickLooks: Clock = {
  now: () => systemClock.now(),
  sleep: (milliseconds, signal) => systemClock.sleep(milliseconds === 5000 ? 10 : milliseconds, signal),
};
