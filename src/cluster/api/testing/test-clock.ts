import type { Clock } from '../../../kubernetes/clock.ts';

/** A clock that a test sets; nothing under test here sleeps on it. */
export class TestClock implements Clock {
  #now = Date.parse('2030-01-01T00:00:00Z');

  now(): number {
    return this.#now;
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds;
  }

  sleep(): Promise<void> {
    return Promise.reject(new Error('nothing may wait for the test clock'));
  }
}
