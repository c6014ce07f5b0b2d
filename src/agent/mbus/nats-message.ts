import { parseJsonObject } from '../../platform/json.ts';
import { cutMiddle } from '../file/cut-middle.ts';
import { parseRequest, type AgentRequest, type AgentResponse } from './dispatch.ts';

/** A message that can be answered. */
export interface NatsMessage {
  /** The subject of the response, which names one request. */
  readonly replyTo: string;
  /** Undefined if the message has no method, or arguments that are not a list. */
  readonly request: AgentRequest | undefined;
}

/**
 * Upstream's limit of a response in bytes (bosh-agent: mbus/nats_handler.go), and the default of the server.
 */
export const responseLimit = 1024 * 1024;

/** The server ends the connection if a command with its subject has more than 4096 bytes. */
const longestSubject = 1000;

/**
 * Parses the body of a message. Returns undefined if it names no subject for the response below `director.`:
 * the agent may not publish anywhere else.
 */
export function parseNatsMessage(body: Uint8Array): NatsMessage | undefined {
  const text = new TextDecoder().decode(body);
  const replyTo = parseJsonObject(text)?.['reply_to'];
  if (typeof replyTo !== 'string' || replyTo.length > longestSubject) return undefined;
  if (!/^director(\.[A-Za-z0-9_-]+){1,8}$/u.test(replyTo)) return undefined;
  return { replyTo, request: parseRequest(text) };
}

/**
 * Encodes a response of at most {@link responseLimit} bytes, or less if the server takes less. A longer
 * message of an exception loses its middle; a longer value becomes an exception, because half a value would
 * be a wrong one.
 */
export function encodeResponse(response: AgentResponse, serverLimit = responseLimit): string {
  const limit = Math.min(responseLimit, serverLimit);
  const text = JSON.stringify(response);
  const size = Buffer.byteLength(text);
  if (size <= limit) return text;
  if ('value' in response) {
    return JSON.stringify({
      exception: {
        message: `Response exceeded maximum allowed length: it has ${size} bytes, and NATS carries ${limit}`,
      },
    });
  }
  const sizeOf = (message: string): number => Buffer.byteLength(JSON.stringify({ exception: { message } }));
  const message = cutMiddle(response.exception.message, (cut) => sizeOf(cut) <= limit);
  return JSON.stringify({ exception: { message } });
}
