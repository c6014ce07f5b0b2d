import type { ServerResponse } from 'node:http';
import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';

/** Responds with JSON. */
export function writeJson(response: ServerResponse, code: number, body: unknown): void {
  const bytes = Buffer.from(`${JSON.stringify(body)}\n`);
  response.writeHead(code, {
    'content-type': 'application/json',
    'content-length': bytes.length,
    'cache-control': 'no-cache, private',
  });
  response.end(bytes);
}

const maximumWarnings = 50;
const maxWarningLength = 256;

/**
 * Adds a Warning header (RFC 7234 5.5, code 299), which kubectl prints. Must be called before the response is
 * written.
 */
export function addWarning(response: ServerResponse, message: string): void {
  const present = response.getHeader('warning');
  const warnings = Array.isArray(present) ? present : [];
  if (warnings.length >= maximumWarnings) return;
  // The client chooses the field names, so none of their characters may break the header.
  const text = message
    .slice(0, maxWarningLength)
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .replaceAll(/["\\]/g, '\\$&');
  response.setHeader('warning', [...warnings, `299 - "${text}"`]);
}

/** Responds with the Status of an error. */
export function answerError(response: ServerResponse, { status }: ApiError): void {
  const retryAfter = status.details?.retryAfterSeconds;
  if (retryAfter !== undefined) response.setHeader('retry-after', String(retryAfter));
  writeJson(response, status.code, status);
}

/** Responds with plain text. */
export function answerText(response: ServerResponse, code: number, text: string): void {
  response.writeHead(code, {
    'content-type': 'text/plain; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
