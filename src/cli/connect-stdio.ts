import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { CommandContext } from './command.ts';

/** Copies stdin to the connection and its data unchanged to stdout, until the other side ends. */
export async function connectStdio(
  remote: Duplex,
  { signal }: Pick<CommandContext, 'signal'>,
): Promise<number> {
  const interrupt = (): void => void remote.destroy();
  signal.addEventListener('abort', interrupt);
  process.stdin.pipe(remote);
  remote.pipe(process.stdout, { end: false });
  try {
    await finished(remote, { writable: false });
    return 0;
  } catch (error) {
    if (signal.aborted) return 130;
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
    process.stdin.destroy();
    remote.destroy();
  }
}
