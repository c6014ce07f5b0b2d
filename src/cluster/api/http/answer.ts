import type { ServerResponse } from 'node:http';
import type { ApiError } from '../../../kubernetes/api-error.ts';

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
