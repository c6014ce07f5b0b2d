import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { systemClock } from '../deploy/clock.ts';
import { acquireLock } from '../deploy/lock.ts';

/**
 * Runs `action` while holding the lock of this installation. Rejects at once with DEPLOYMENT_LOCKED, naming the holder,
 * while another command holds it; a holder that was killed holds nothing.
 */
export async function holdLock<T>(path: string, action: () => Promise<T>): Promise<T> {
  await mkdir(dirname(path), { recursive: true });
  const lock = await acquireLock(path, systemClock);
  try {
    return await action();
  } finally {
    await lock.release();
  }
}
