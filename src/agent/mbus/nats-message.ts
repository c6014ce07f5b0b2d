import { parseJsonObject } from '../../platform/json.ts';
import { parseRequest, type AgentRequest, type AgentResponse } from './dispatch.ts';

export interface NatsRequest extends AgentRequest {
  /** The subject of the response, which names one request. */
  readonly replyTo: string;
}

/** Upstream's limit of a response in bytes (bosh-agent: mbus/nats_handler.go), and that of the server. */
export const responseLimit = 1024 * 1024;

/**
 * Parses the body of a message. Returns undefined if it is not a request, or if it names a subject for the
 * response that is not below `director.`: the agent may not publish anywhere else.
 */
export function parseNatsRequest(body: Uint8Array): NatsRequest | undefined {
  const text = new TextDecoder().decode(body);
  const request = parseRequest(text);
  const replyTo = parseJsonObject(text)?.['reply_to'];
  if (request === undefined || typeof replyTo !== 'string') return undefined;
  return /^director(\.[A-Za-z0-9_-]+){1,8}$/u.test(replyTo) ? { ...request, replyTo } : undefined;
}

/**
 * Encodes a response of at most {@link responseLimit} bytes. A longer message of an exception loses its
 * middle; a longer value becomes an exception, because half a value would be a wrong one.
 */
export function encodeResponse(response: AgentResponse): string {
  const text = JSON.stringify(response);
  const size = Buffer.byteLength(text);
  if (size <= responseLimit) return text;
  if ('value' in response) {
    return JSON.stringify({
      exception: {
        message: `Response exceeded maximum allowed length: it has ${size} bytes, and NATS carries ${responseLimit}`,
      },
    });
  }
  const message = cutMiddle(response.exception.message, (cut) =>
    Buffer.byteLength(JSON.stringify({ exception: { message: cut } })),
  );
  return JSON.stringify({ exception: { message } });
}

/**
 * Removes as much of the middle of a text that `sizeOf` is at most {@link responseLimit}. A line says how
 * much was removed. Returns the text as it is if it fits.
 */
export function cutMiddle(text: string, sizeOf: (text: string) => number): string {
  if (sizeOf(text) <= responseLimit) return text;
  let fits = 0;
  let tooLong = text.length;
  while (tooLong - fits > 1) {
    const kept = Math.floor((fits + tooLong) / 2);
    if (sizeOf(withoutMiddle(text, kept)) <= responseLimit) fits = kept;
    else tooLong = kept;
  }
  return withoutMiddle(text, fits);
}

function withoutMiddle(text: string, kept: number): string {
  const head = text.slice(0, Math.ceil(kept / 2)).toWellFormed();
  const tail = text.slice(text.length - Math.floor(kept / 2)).toWellFormed();
  return `${head}\n[... ${text.length - kept} characters were removed here, because NATS carries 1 MiB ...]\n${tail}`;
}
