import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { verifyFile } from '../../bosh/digest/verify-file.ts';
import { archiveLimits, limitedTo } from '../../bosh/archive/archive-limits.ts';
import { parseSecretUrl, secretUrlHelp } from '../../bosh/url/parse-secret-url.ts';
import type { SecretUrl } from '../../bosh/url/parse-secret-url.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { temporaryPath } from '../../platform/draft.ts';
import { makePrivateDirectory } from '../durable-file.ts';
import { withContext } from '../error-chain.ts';
import type { Step } from '../stage/stage.ts';
import type { DigestCache } from './digest-cache.ts';
import { withPath } from '../../platform/write-file.ts';

export interface Download {
  readonly url: string;
  /** Digest text; the file is kept under it and counts only when it has it. */
  readonly digest: string;
  readonly directory: string;
  readonly digests: Pick<DigestCache, 'verify'>;
  readonly signal: AbortSignal | undefined;
  /** Milliseconds that the whole download may take; default a day. */
  readonly deadline?: number;
}

const day = 86_400_000;

/** Fetches an archive once, and once more when what was kept of it is no longer that; resolves with its path. */
export async function downloadArchive(download: Download, step: Step): Promise<string> {
  const { url, digest, directory } = download;
  const path = join(directory, `${createHash('sha1').update(url).digest('hex')}-${fileNameOf(digest)}`);
  if (await isWhole(path, download)) {
    step.skip('Found in local cache');
    return path;
  }
  await makePrivateDirectory(directory);
  const draft = temporaryPath(path);
  try {
    await fetchTo(draft, download);
    await withContext(`Verifying what '${shown(url)}' answered`, () => verifyFile(draft, digest));
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}

/** A file of the cache that is cut or rotten is removed: it is nobody's, and would fail each run. */
async function isWhole(path: string, { digest, digests }: Download): Promise<boolean> {
  try {
    await digests.verify(path, digest);
    return true;
  } catch (error) {
    if (isProductError(error, 'DIGEST_MISMATCH')) await rm(path, { force: true });
    else if (!isProductError(error, 'FILE_NOT_FOUND')) throw error;
    return false;
  }
}

async function fetchTo(path: string, { url, digest, signal, deadline = day }: Download): Promise<void> {
  const overdue = AbortSignal.timeout(deadline);
  const stop = signal === undefined ? overdue : AbortSignal.any([signal, overdue]);
  const failed = (why: string, cause?: unknown): ProductError =>
    new ProductError(
      'DOWNLOAD_FAILED',
      `Failed to download from '${shown(url)}', expected ${digest}: ${why}`,
      {
        cause,
      },
    );
  try {
    const response = await fetch(parsed(url).url, {
      headers: authorization(parsed(url)),
      signal: stop,
    });
    if (!response.ok || response.body === null) throw failed(`the server answered ${response.status}`);
    const limited = limitedTo(archiveLimits.total, (excess) => failed(`the answer has ${excess}`));
    await pipeline(
      Readable.fromWeb(response.body),
      limited,
      createWriteStream(path, { flags: 'wx', mode: 0o600 }),
    );
  } catch (error) {
    if (signal?.aborted === true)
      throw new ProductError('INTERRUPTED', 'The download was interrupted', { cause: error });
    if (overdue.aborted) throw failed(`it had not ended after ${deadline / 1000} s`, error);
    // fetch reports every failure of the network as a TypeError with the cause inside.
    if (error instanceof TypeError) throw failed('no connection, or it broke', error.cause ?? error);
    throw withPath(path, error);
  }
}

/** fetch refuses user and password in a URL and would name them in its error. */
function parsed(text: string): SecretUrl {
  const url = parseSecretUrl(text);
  if (url === undefined) throw new ProductError('DOWNLOAD_FAILED', `The URL of an archive ${secretUrlHelp}`);
  return url;
}

function authorization({ user, password }: SecretUrl): Record<string, string> {
  if (user === '' && password === '') return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

/** A query may hold a signature. */
function shown(text: string): string {
  const { url } = parsed(text);
  return `${url.origin}${url.pathname}`;
}

function fileNameOf(digest: string): string {
  return digest.replaceAll(/[^0-9A-Za-z]/g, '-');
}
