import { open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { fileNotFound, openForReading } from './open-for-reading.ts';
import type { OpenOptions } from './open-for-reading.ts';

const pieceSize = 1 << 16;

/** Reads an open file. Returns undefined if it has more than `limit` bytes, whatever its size in stat is. */
async function readAtMost(file: FileHandle, limit: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    const piece = Buffer.allocUnsafe(Math.min(pieceSize, limit + 1 - length));
    const { bytesRead } = await file.read(piece, 0, piece.length, null);
    if (bytesRead === 0) return Buffer.concat(pieces, length);
    length += bytesRead;
    if (length > limit) return undefined;
    pieces.push(piece.subarray(0, bytesRead));
  }
}

/** Reads a regular file (openForReading). Returns undefined if it has more than `limit` bytes. */
export async function readRegularFile(
  path: string,
  limit: number,
  options: OpenOptions = {},
): Promise<Buffer | undefined> {
  await using file = await openForReading(path, options);
  return await readAtMost(file, limit);
}

/**
 * Reads a file that the operator named, which may be a pipe (`<(command)` of a shell). Throws FILE_NOT_FOUND.
 * Returns undefined if it has more than `limit` bytes.
 */
export async function readOperatorFile(path: string, limit: number): Promise<Buffer | undefined> {
  try {
    using _ = (await stat(path)).isFile() ? undefined : endingBySignal();
    await using file = await open(path, 'r');
    return await readAtMost(file, limit);
  } catch (error) {
    throw fileNotFound(path, error) ?? error;
  }
}

/**
 * Until it is disposed, the first signal ends the process immediately. Nothing else can interrupt a thread
 * that waits for the writer of a pipe, and the operator's files are read before anything is changed.
 */
function endingBySignal(): Disposable {
  const end = (signal: NodeJS.Signals): void => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.prependListener(signal, end);
  return {
    [Symbol.dispose]: () => {
      for (const signal of signals) process.removeListener(signal, end);
    },
  };
}
