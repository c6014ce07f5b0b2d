import { ProductError } from '../../errors/product-error.ts';
import { isObject } from '../../platform/fields.ts';
import type { SignedUrl } from './blobs.ts';

/**
 * Parses a signed URL of a request and its headers. Returns undefined if there is no URL: the director sends
 * `signed_url` only if it is configured so. Throws AGENT_ARGUMENT_INVALID, without the URL in the message;
 * `where` names the part of the request.
 */
export function parseSignedUrl(url: unknown, headers: unknown, where: string): SignedUrl | undefined {
  if (url === undefined || url === null || url === '') return undefined;
  if (typeof url !== 'string' || !/^https?:\/\//u.test(url) || !URL.canParse(url))
    throw invalid(`${where}: the signed URL is not an http or https URL`);
  if (headers === undefined || headers === null) return { url, headers: {} };
  if (!isObject(headers)) throw invalid(`${where}: blobstore_headers is not an object`);
  const parsed = Object.entries(headers).map(([name, value]): [string, string] => {
    if (typeof value === 'string' && /^[A-Za-z0-9-]+$/u.test(name) && !/[\r\n]/u.test(value))
      return [name, value];
    throw invalid(`${where}: blobstore_headers.${name} is not a header with a text`);
  });
  return { url, headers: Object.fromEntries(parsed) };
}

/** Like {@link parseSignedUrl}, for requests that consist of a signed URL. */
export function requireSignedUrl(url: unknown, headers: unknown, where: string): SignedUrl {
  const parsed = parseSignedUrl(url, headers, where);
  if (parsed !== undefined) return parsed;
  throw invalid(`${where}: there is no signed URL`);
}

function invalid(cause: string): ProductError {
  return new ProductError('AGENT_ARGUMENT_INVALID', cause);
}
