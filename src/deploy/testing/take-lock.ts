/**
 * A run that takes the lock of a state file, prints `locked` and keeps the lock until its stdin ends:
 * `take-lock.ts <state> <locks>`.
 */
import { systemClock } from '../../platform/clock.ts';
import { acquireLock } from '../lock.ts';

const [, , statePath = '', locks = ''] = process.argv;
try {
  const lock = await acquireLock(statePath, { clock: systemClock, locks });
  process.stdout.write('locked\n');
  for await (const _ of process.stdin);
  await lock.release();
} catch (error) {
  process.stdout.write(`${error instanceof Error && 'code' in error ? String(error.code) : String(error)}\n`);
}
