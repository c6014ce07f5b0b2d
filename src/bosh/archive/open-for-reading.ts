import { constants } from 'node:fs';
import { open, type FileHandle, stat } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';

const unreadable: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR', 'ELOOP', 'ENXIO'];

export interface OpenOptions {
  /**
   * The path's last component must not be a symbolic link: other users may write to its directory, or may
   * have created its content.
   */
  readonly noFollow?: boolean;
  /** The recorded digest of the file, if there is one; it is added to the error. */
  readonly expected?: string | undefined;
}

/**
 * Opens a regular file for reading. Throws FILE_NOT_FOUND if the file does not exist, is not readable, or is
 * a directory, a pipe or a device. Opening does not wait for a pipe or device.
 */
export async function openForReading(
  path: string,
  { noFollow = false, expected }: OpenOptions = {},
): Promise<FileHandle> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (noFollow ? constants.O_NOFOLLOW : 0);
  let file: FileHandle;
  try {
    file = await open(path, flags);
  } catch (error) {
    if (noFollow && errorCodeOf(error) === 'ELOOP') throw notRegular(path, 'a symbolic link');
    throw fileNotFound(path, error, expected) ?? error;
  }
  try {
    const found = await file.stat();
    if (found.isFile()) return file;
    throw notRegular(path, found.isDirectory() ? 'a folder (EISDIR)' : 'a pipe, socket or device');
  } catch (error) {
    await file.close();
    throw error;
  }
}

/**
 * Streams the bytes of a regular file. Opens it at the first read, so that a caller that never reads leaves
 * no file open.
 */
export async function* readStream(path: string, options: OpenOptions = {}): AsyncGenerator<Uint8Array> {
  await using file = await openForReading(path, options);
  yield* file.createReadStream({ highWaterMark: 1 << 16, autoClose: false }) as AsyncIterable<Uint8Array>;
}

/**
 * Returns the ProductError for an error of node:fs that means that the named file cannot be read, and
 * undefined for every other error. `expected` is the recorded digest of the file, if there is one.
 */
export function fileNotFound(path: string, error: unknown, expected?: string): ProductError | undefined {
  const code = errorCodeOf(error);
  if (!unreadable.includes(code)) return undefined;
  const digest = expected === undefined ? '' : `, expected ${expected}`;
  const reason = code === 'ENOENT' ? 'it does not exist' : String(code);
  return new ProductError('FILE_NOT_FOUND', `Cannot read '${path}': ${reason}${digest}`, { cause: error });
}

function errorCodeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function notRegular(path: string, what: string): ProductError {
  return new ProductError('FILE_NOT_FOUND', `Cannot read '${path}': it is ${what}, not a regular file`);
}

const chunkSize = 1 << 16;

/** Reads an open file. Returns undefined if it has more than `limit` bytes, whatever its size in stat is. */
async function readAtMost(file: FileHandle, limit: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkSize, limit + 1 - length));
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) return Buffer.concat(chunks, length);
    length += bytesRead;
    if (length > limit) return undefined;
    chunks.push(chunk.subarray(0, bytesRead));
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
 * Until it is disposed, the first signal, or the end of the launcher (src/cli/interruption.ts), ends the
 * process immediately. Nothing else can interrupt a thread that waits for the writer of a pipe, and the
 * operator's files are read before anything is changed.
 */
function endingBySignal(): Disposable {
  const end = (signal: NodeJS.Signals): void => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  };
  const endWithLauncher = (): void => end('SIGTERM');
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.prependListener(signal, end);
  process.prependListener('disconnect', endWithLauncher);
  return {
    [Symbol.dispose]: () => {
      process.removeListener('disconnect', endWithLauncher);
      for (const signal of signals) process.removeListener(signal, end);
    },
  };
}
