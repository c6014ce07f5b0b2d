import type { Field } from '../../platform/field.ts';
import type { SignedUrl } from './blobs.ts';

/**
 * Parses a signed URL of a request and its headers. Returns undefined if there is no URL: the director sends
 * `signed_url` only if it is configured so. Throws AGENT_ARGUMENT_INVALID, without the URL in the message.
 */
export function parseSignedUrl(url: Field, headers: Field): SignedUrl | undefined {
  if (url.optional() === undefined || url.value === '') return undefined;
  return requireSignedUrl(url, headers);
}

/** Like {@link parseSignedUrl}, for requests that consist of a signed URL. */
export function requireSignedUrl(url: Field, headers: Field): SignedUrl {
  return {
    url: url.stringThat(
      (text) => /^https?:\/\//u.test(text) && URL.canParse(text),
      'must be an http or https URL',
    ),
    headers: Object.fromEntries(headers.entries().map(([name, value]) => [name, parseHeader(name, value)])),
  };
}

function parseHeader(name: string, value: Field): string {
  return value.stringThat(
    (text) => /^[A-Za-z0-9-]+$/u.test(name) && /^[\t\x20-\x7e\x80-\xff]*$/u.test(text),
    'must be the text of a header',
  );
}
