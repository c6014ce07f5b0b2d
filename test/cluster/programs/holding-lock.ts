import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs `action` with the exclusive lock of that file, after waiting for other processes. flock(1) keeps the
 * lock in the kernel, which releases it when this process dies.
 */
export async function holdingLock<T>(path: string, action: () => Promise<T>): Promise<T> {
  const holder = spawn('flock', [path, 'sh', '-c', 'echo locked; cat >/dev/null'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(holder, 'close');
  const [outcome] = await Promise.race([once(holder.stdout, 'data'), ended]);
  if (!Buffer.isBuffer(outcome)) throw new Error(`flock ${path} ended with ${outcome}`);
  try {
    return await action();
  } finally {
    holder.stdin.end();
    await ended;
  }
}
