import { ProductError } from '../../errors/product-error.ts';
import { isHeaderName } from './response-head.ts';

export interface RequestHead {
  readonly method: string;
  readonly url: URL;
  /** Without Host and Content-Length, which are made here. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/**
 * One HTTP/1.1 request as bytes (RFC 9112, sections 2.1, 3 and 6.2).
 * A header that is no visible ASCII would end the header early: INVALID_CONFIG names it, but where its name is at fault, and not
 * its value.
 */
export function encodeRequest({ method, url, headers, body }: RequestHead): Uint8Array {
  const encoder = new TextEncoder();
  const content = body === undefined ? undefined : encoder.encode(body);
  const lines = [`${method} ${url.pathname}${url.search} HTTP/1.1`, `Host: ${url.host}`];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${checked(name, value)}`);
  if (content !== undefined) lines.push(`Content-Length: ${content.length}`);
  const head = encoder.encode(`${lines.join('\r\n')}\r\n\r\n`);
  if (content === undefined) return head;
  const bytes = new Uint8Array(head.length + content.length);
  bytes.set(head);
  bytes.set(content, head.length);
  return bytes;
}

function checked(name: string, value: string): string {
  if (!isHeaderName(name))
    throw new ProductError(
      'INVALID_CONFIG',
      "a header cannot be sent: its name has a character that no header's name may have; correct the kubeconfig's user that it is made of",
    );
  if (/^[\x20-\x7E]*$/u.test(value)) return value;
  throw new ProductError(
    'INVALID_CONFIG',
    `the ${name} header cannot be sent: its value has a line break or a character that is not ASCII; correct the token or name that it is made of`,
  );
}
