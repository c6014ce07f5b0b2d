import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiError } from '../../../kubernetes/api-error.ts';
import { badRequest, tooLarge } from '../errors/status-errors.ts';

const maximumBody = 3 * 1024 * 1024;

/** Answers with JSON. */
export function answerJson(
  response: ServerResponse,
  code: number,
  body: unknown,
  type = 'application/json',
): void {
  const bytes = Buffer.from(`${JSON.stringify(body)}\n`);
  response.writeHead(code, {
    'content-type': type,
    'content-length': bytes.length,
    'cache-control': 'no-cache, private',
  });
  response.end(bytes);
}

/** Answers with the Status of an error. */
export function answerError(response: ServerResponse, { status }: ApiError): void {
  const retryAfter = status.details?.retryAfterSeconds;
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
  answerJson(response, status.code, status);
}

/** Answers with plain text. */
export function answerText(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

/** The body as JSON; undefined for an empty one. Throws ApiError 400 for no JSON, 413 for more than 3 MiB. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maximumBody) throw tooLarge(`Request entity too large: limit is ${maximumBody}`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // the parser's own message quotes the text, which may hold a secret
    throw badRequest('the object provided is unrecognized (must be of type JSON)');
  }
}
