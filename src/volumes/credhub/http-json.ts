import type { Agent } from 'node:https';
import { request } from 'node:https';
import { setTimeout as delay } from 'node:timers/promises';

/** A request to a server whose certificate `agent` verifies. */
export interface HttpsRequest {
  readonly agent: Agent;
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface HttpsResponse {
  readonly status: number;
  readonly text: string;
}

const attemptTimeoutMs = 10_000;
const maxResponseBytes = 16 * 1024 * 1024;
const firstDelayMs = 100;
const maxDelayMs = 2_000;

/**
 * Sends an idempotent request. Retries while the server is busy (429, 5xx) or cannot be reached, for
 * `deadlineMs` milliseconds; 0 sends it once. Does not retry if the certificate is not trusted. Returns the
 * last response, or rejects with the last error.
 */
export async function requestWithRetry(sent: HttpsRequest, deadlineMs: number): Promise<HttpsResponse> {
  const end = performance.now() + deadlineMs;
  for (let tried = 0; ; tried += 1) {
    const wait = Math.min(maxDelayMs, firstDelayMs * 2 ** tried) * (0.5 + Math.random() / 2);
    const isLast = performance.now() + wait >= end;
    try {
      const reply = await sendOnce(sent);
      if (isLast || !(reply.status === 429 || reply.status >= 500)) return reply;
    } catch (error) {
      if (isLast || isUntrusted(error)) throw error;
    }
    await delay(wait);
  }
}

function sendOnce({ agent, method, url, headers, body }: HttpsRequest): Promise<HttpsResponse> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(attemptTimeoutMs);
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const sending = request(url, { agent, method, headers: { ...headers, ...length }, signal });
    sending.on('error', (error) =>
      reject(signal.aborted ? new Error(`no response within ${attemptTimeoutMs / 1000} seconds`) : error),
    );
    sending.on('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        size += chunk.length;
        if (size > maxResponseBytes) response.destroy(new Error('the response is longer than 16 MiB'));
      });
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    sending.end(body);
  });
}

/** Returns true for the error codes of OpenSSL and Node for a certificate that fails verification. */
const isUntrusted = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  /^(?:CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|ERR_TLS_CERT)/u.test(String(error.code));
