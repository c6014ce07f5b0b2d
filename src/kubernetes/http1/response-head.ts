/** How the end of a body is known (RFC 9112, section 6.3). */
export type BodyLength =
  | { readonly kind: 'none' }
  | { readonly kind: 'length'; readonly bytes: number }
  | { readonly kind: 'chunked' }
  | { readonly kind: 'until-close' };

export interface ResponseHead {
  readonly status: number;
  /** Names in lower case; values of a name that comes twice are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  readonly length: BodyLength;
  /** The connection serves another request after this one. */
  readonly keepsAlive: boolean;
}

/** The server does not speak HTTP/1.1 as the RFC has it. Whoever gets it closes the connection. */
export class MalformedResponse extends Error {
  override readonly name = 'MalformedResponse';
}

/** Parses status line and header lines, without the empty line at their end. Throws MalformedResponse. */
export function parseResponseHead(text: string): ResponseHead {
  const [statusLine = '', ...lines] = text.split('\r\n');
  const match = /^HTTP\/1\.([01]) ([1-5]\d\d)(?: .*)?$/u.exec(statusLine);
  if (match === null) throw new MalformedResponse('the first line is no HTTP/1.1 status line');
  const status = Number(match[2]);
  const headers = parseHeaders(lines);
  const length = bodyLength(status, headers);
  const connection = (headers['connection'] ?? '').toLowerCase();
  const keepsAlive =
    length.kind !== 'until-close' &&
    (match[1] === '1' ? !/\bclose\b/u.test(connection) : /\bkeep-alive\b/u.test(connection));
  return { status, headers, length, keepsAlive };
}

function parseHeaders(lines: readonly string[]): Record<string, string> {
  // without a prototype: names are the server's
  const headers = Object.create(null) as Record<string, string>;
  for (const line of lines) {
    // by index: one pattern for name, blanks and value is cubic in the blanks
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    if (!isHeaderName(name) || /[\r\n\0]/u.test(line))
      throw new MalformedResponse('a line of the head is no header');
    const value = withoutBlanks(line.slice(colon + 1));
    const former = headers[name];
    headers[name] = former === undefined ? value : `${former}, ${value}`;
  }
  return headers;
}

/** A token of RFC 9110, section 5.6.2. */
export const isHeaderName = (text: string): boolean => /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/u.test(text);

function withoutBlanks(text: string): string {
  const isBlank = (at: number): boolean => text[at] === ' ' || text[at] === '\t';
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(start)) start += 1;
  while (end > start && isBlank(end - 1)) end -= 1;
  return text.slice(start, end);
}

function bodyLength(status: number, headers: Readonly<Record<string, string>>): BodyLength {
  if (status < 200 || status === 204 || status === 304) return { kind: 'none' };
  const encoding = headers['transfer-encoding'];
  const length = headers['content-length'];
  if (encoding !== undefined) {
    // both together is how requests are smuggled
    if (length !== undefined) throw new MalformedResponse('both Transfer-Encoding and Content-Length');
    if (encoding.toLowerCase() !== 'chunked') throw new MalformedResponse('an unknown Transfer-Encoding');
    return { kind: 'chunked' };
  }
  if (length === undefined) return { kind: 'until-close' };
  if (!/^\d{1,15}$/u.test(length)) throw new MalformedResponse('Content-Length is no number');
  return Number(length) === 0 ? { kind: 'none' } : { kind: 'length', bytes: Number(length) };
}
