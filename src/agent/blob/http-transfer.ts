import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { pipeline } from 'node:stream/promises';
import { ProductError } from '../../errors/product-error.ts';
import { errorCode, errorMessage } from '../file/error-code.ts';
import { readFileIfPresent } from '../file/files.ts';
import { writing } from '../../platform/write-file.ts';

/** The address of one blob. */
export interface BlobLocation {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** PEM of the CAs that may have signed the server's certificate; undefined for those that the VM trusts. */
  readonly ca: string | undefined;
}

/** How long a server may be silent. */
const idleTimeoutMs = 120_000;

/**
 * Downloads a blob into a new file. Throws AGENT_BLOB_NOT_FOUND for status 404 and AGENT_BLOBSTORE_FAILED for
 * any other failure. The messages do not contain the query of the URL, which may be a signature.
 */
export async function download(location: BlobLocation, path: string): Promise<void> {
  const response = await exchange(location, 'GET');
  await assertSuccess(location, 'GET', response);
  await writing(path, () =>
    pipeline(whole(location, response), createWriteStream(path, { flags: 'wx', mode: 0o600 })),
  );
}

/**
 * Returns the body of a response. Throws AGENT_BLOBSTORE_FAILED if the server ends the connection before its
 * end.
 */
async function* whole(location: BlobLocation, response: IncomingMessage): AsyncGenerator<Buffer> {
  const { 'content-length': length } = response.headers;
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      yield chunk;
    }
  } catch (error) {
    const cause = `the connection ended after ${size} bytes: ${errorMessage(error)}: ${reachability}`;
    throw failed(location, 'GET', cause, error);
  }
  if (length !== undefined && Number(length) !== size)
    throw failed(location, 'GET', `the connection ended after ${size} of ${length} bytes: ${reachability}`);
}

/** Uploads a file as a blob. Throws AGENT_BLOBSTORE_FAILED. */
export async function upload(location: BlobLocation, path: string): Promise<void> {
  const { size } = await stat(path);
  const response = await exchange(location, 'PUT', { path, size });
  await assertSuccess(location, 'PUT', response);
  response.resume();
}

/** The certificate store of the VM, which has the director's trusted_certs. */
const systemStore = '/etc/ssl/certs/ca-certificates.crt';

/** Returns the CAs in PEM. If there are none, returns undefined, and the runtime uses its own. */
export async function trustedCas(ca: string | undefined, store = systemStore): Promise<string | undefined> {
  return ca ?? ((await readFileIfPresent(store)) || undefined);
}

async function exchange(
  { url, headers, ca: ownCa }: BlobLocation,
  method: 'GET' | 'PUT',
  body?: { readonly path: string; readonly size: number },
): Promise<IncomingMessage> {
  const ca = url.protocol === 'https:' ? await trustedCas(ownCa) : undefined;
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const request = send(url, {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-length': body.size }) },
    agent: false,
    timeout: idleTimeoutMs,
    ...(ca !== undefined && { ca }),
  });
  const fail = (error: Error): void =>
    reject(failed({ url }, method, `${errorMessage(error)}: ${connectionHint(error, method)}`, error));
  request.on('error', fail);
  request.on('timeout', () => request.destroy(new Error(`no answer within ${idleTimeoutMs / 1000} s`)));
  request.on('response', resolve);
  if (body === undefined) request.end();
  else pipeline(createReadStream(body.path), request).catch(fail);
  return promise;
}

async function assertSuccess(
  location: BlobLocation,
  method: string,
  response: IncomingMessage,
): Promise<void> {
  const { statusCode = 0 } = response;
  const statusMessage = (response.statusMessage ?? '').replaceAll(/[^\x20-\x7e]/gu, '').slice(0, 100);
  if (statusCode >= 200 && statusCode < 300) return;
  response.resume();
  if (method === 'GET' && statusCode === 404)
    throw new ProductError(
      'AGENT_BLOB_NOT_FOUND',
      `the blobstore has no blob at ${describe(location)}: upload the release again with --fix if its blob was lost, or check the endpoint of the blobstore`,
    );
  throw failed(location, method, `status ${statusCode} ${statusMessage}: ${statusHint(statusCode)}`);
}

const reachability = 'check that the blobstore runs and is reachable from this VM';

/** A server may answer before it has read everything and then end the connection. The answer is lost then. */
function connectionHint(error: Error, method: string): string {
  const code = errorCode(error) ?? '';
  if (method === 'PUT' && (code === 'EPIPE' || code === 'ECONNRESET'))
    return 'the server ended the connection before it had everything; its log has the reason, such as no free space';
  if (/EPROTO|ERR_SSL/u.test(code))
    return 'check that the endpoint of the blobstore is that of a server with TLS';
  return /CERT|SIGNATURE|ERR_TLS/u.test(code)
    ? "check that tls.cert.ca of the blobstore's options, or without it director.trusted_certs, has the CA of the server, and that its certificate is valid for the endpoint"
    : reachability;
}

function statusHint(status: number): string {
  if (status === 401 || status === 403)
    return 'check the user and the password of the blobstore, or whether a signed URL has expired';
  if (status === 507 || status === 413) return 'free space in the blobstore';
  return status >= 500 ? 'check the log of the blobstore' : 'check the endpoint of the blobstore';
}

function failed(
  location: Pick<BlobLocation, 'url'>,
  method: string,
  cause: string,
  error?: unknown,
): ProductError {
  return new ProductError('AGENT_BLOBSTORE_FAILED', `${method} ${describe(location)} failed: ${cause}`, {
    cause: error,
  });
}

const describe = ({ url }: Pick<BlobLocation, 'url'>): string => `${url.origin}${url.pathname}`;
