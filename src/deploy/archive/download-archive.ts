import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { verifyFile } from '../../bosh/digest.ts';
import { archiveLimits, limitedTo } from '../../bosh/archive/archive-limits.ts';
import { parseSecretUrl, secretUrlHelp, type SecretUrl } from '../../bosh/parse-secret-url.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { countBytes, type OnBytes } from '../../platform/live-progress.ts';
import { temporaryPath } from '../../platform/durable-file.ts';
import { makePrivateDirectory } from '../durable-file.ts';
import { withContext } from '../../platform/error-chain.ts';
import type { ArchiveReference } from '../../bosh/manifest/manifest.ts';
import { withPath } from '../../platform/write-file.ts';
import type { Step, Stage } from '../stage/stage.ts';
import type { DigestCache } from './digest-cache.ts';

export interface Download {
  readonly url: string;
  /** Digest text. The file is stored under this digest and used only while it matches. */
  readonly digest: string;
  readonly directory: string;
  readonly digests: Pick<DigestCache, 'verify'>;
  readonly signal: AbortSignal | undefined;
  /** Milliseconds that the whole download may take. The default is one day. */
  readonly deadline?: number;
}

const day = 86_400_000;

/**
 * Returns the path of the archive. Downloads it if the cache does not have it or if the cached file no longer
 * matches its digest.
 */
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
    await fetchTo(draft, download, step.onBytes);
    await withContext(`Verifying what '${withoutQuery(url)}' answered`, () => verifyFile(draft, digest));
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
  return path;
}

/**
 * Returns true if the cached file matches its digest. Removes a truncated or corrupt file, because it would
 * fail each run.
 */
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

async function fetchTo(
  path: string,
  { url, digest, signal, deadline = day }: Download,
  onBytes: OnBytes | undefined,
): Promise<void> {
  const overdue = AbortSignal.timeout(deadline);
  const stop = signal === undefined ? overdue : AbortSignal.any([signal, overdue]);
  const failed = (why: string, cause?: unknown): ProductError =>
    new ProductError(
      'DOWNLOAD_FAILED',
      `Failed to download from '${withoutQuery(url)}', expected ${digest}: ${why}`,
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
      countBytes(onBytes, lengthOf(response)),
      createWriteStream(path, { flags: 'wx', mode: 0o600 }),
    );
  } catch (error) {
    if (signal?.aborted === true)
      throw new ProductError('INTERRUPTED', 'The download was interrupted', { cause: error });
    if (overdue.aborted) throw failed(`it had not ended after ${deadline / 1000} s`, error);
    // fetch reports every network failure as a TypeError whose cause has the details.
    if (error instanceof TypeError) throw failed('no connection, or it broke', error.cause ?? error);
    throw withPath(path, error);
  }
}

/** Undefined if the server does not say it, or compresses what it sends. */
function lengthOf({ headers }: Response): number | undefined {
  const text = headers.get('content-length');
  return text === null || headers.has('content-encoding') ? undefined : Number(text);
}

/** fetch rejects a URL with user and password, and its error would show them. */
function parsed(text: string): SecretUrl {
  const url = parseSecretUrl(text);
  if (url === undefined) throw new ProductError('DOWNLOAD_FAILED', `The URL of an archive ${secretUrlHelp}`);
  return url;
}

function authorization({ user, password }: SecretUrl): Record<string, string> {
  if (user === '' && password === '') return {};
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

/** Removes the query, which may contain a signature. */
function withoutQuery(text: string): string {
  const { url } = parsed(text);
  return `${url.origin}${url.pathname}`;
}

function fileNameOf(digest: string): string {
  return digest.replaceAll(/[^0-9A-Za-z]/g, '-');
}

export interface ArchiveContext {
  readonly stage: Stage;
  readonly downloadDirectory: string;
  readonly digests: DigestCache;
  readonly signal: AbortSignal | undefined;
}

/**
 * Returns the path of an archive; a remote archive is downloaded first. `description` names it in the
 * progress line, for example `release 'hello'`.
 */
export async function locateArchive(
  reference: ArchiveReference,
  description: string,
  { stage, downloadDirectory: directory, digests, signal }: ArchiveContext,
): Promise<string> {
  const { location, digest } = reference;
  if (location.kind === 'file') return location.path;
  return stage.perform(`Downloading ${description}`, (step) =>
    downloadArchive({ url: location.url, digest: digest ?? '', directory, digests, signal }, step),
  );
}
