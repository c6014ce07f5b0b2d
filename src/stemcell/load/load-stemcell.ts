import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../errors/product-error.ts';
import { dropFirstWord } from '../../errors/text.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import type { ImageName } from '../../oci/image-reference.ts';
import type { ImageSource } from '../../oci/image-source.ts';
import { collectGarbageWhileStreaming } from '../source/stream-with-gc.ts';
import { type Destination, type ImageImporter, importerFor } from './destination.ts';
import { imageArchive } from './image-archive.ts';
import { writing } from '../../platform/write-file.ts';

/** The number of characters of the program's output that an error message contains. */
const kept = 4000;

export interface LoadContext {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

/**
 * Imports an image into a node's container runtime with the runtime's program. Idempotent.
 * STEMCELL_LOAD_FAILED contains the program's output; rejects with DIGEST_MISMATCH if a blob of the image is
 * damaged.
 */
export async function loadStemcell(
  image: ImageSource,
  name: ImageName,
  destination: Destination,
  context: LoadContext,
): Promise<void> {
  const loader = importerFor(destination);
  const archive = collectGarbageWhileStreaming(imageArchive(image, name), context.signal);
  if (loader.reads === 'stdin') return run(loader, '-', archive, context);
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-load-'));
  try {
    const file = join(directory, 'image.tar');
    await writing(file, () => pipeline(archive, createWriteStream(file, { mode: 0o600 })));
    await run(loader, file, undefined, context);
  } finally {
    await removeTree(directory, { within: tmpdir() });
  }
}

async function run(
  { program, args, install }: ImageImporter,
  file: string,
  input: AsyncIterable<Uint8Array> | undefined,
  { environment, signal }: LoadContext,
): Promise<void> {
  const child = spawn(program, args(file), {
    env: { ...environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    signal,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output = (output + chunk).slice(-kept)));
  const ended = new Promise<void>((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      const missing = `'${program}' is not on PATH: ${install}`;
      reject(error.code === 'ENOENT' ? new ProductError('STEMCELL_LOAD_FAILED', missing) : error);
    });
    child.on('close', (code, end) => {
      if (code === 0) return resolve();
      const shown = output.length < kept ? output : dropFirstWord(output);
      const message = `'${program}' ended with ${code ?? end}: ${shown.trim() || 'it printed nothing'}`;
      reject(new ProductError('STEMCELL_LOAD_FAILED', message));
    });
  });
  const [fed, done] = await Promise.allSettled([pipeInto(child.stdin, input), ended]);
  // If the program ends before it has read everything, its error has the reason; the pipe's error reports
  // only that it ended.
  if (fed.status === 'rejected' && !isBrokenPipe(fed.reason)) throw fed.reason;
  if (done.status === 'rejected') throw done.reason;
  if (fed.status === 'rejected')
    throw new ProductError('STEMCELL_LOAD_FAILED', `'${program}' ended without reading the whole image`);
}

async function pipeInto(
  stdin: NodeJS.WritableStream,
  input: AsyncIterable<Uint8Array> | undefined,
): Promise<void> {
  await pipeline(input ?? Readable.from([]), stdin);
}

function isBrokenPipe(error: unknown): boolean {
  const codes = ['EPIPE', 'ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE', 'ERR_STREAM_DESTROYED'];
  return error instanceof Error && 'code' in error && codes.includes(String(error.code));
}
