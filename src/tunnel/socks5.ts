import { once } from 'node:events';
import { isIPv4, isIPv6, type Socket } from 'node:net';
import { ProductError } from '../errors/product-error.ts';

/** The destination that a client requests. */
export interface Destination {
  /** An address as text, or a DNS name in lower case without a trailing dot. */
  readonly host: string;
  readonly port: number;
}

/**
 * The result of parsing the bytes received so far: an incomplete message, a message of `length` bytes, or an
 * invalid one; then `response` is sent to the client.
 */
export type Parsed<T> =
  | { readonly kind: 'incomplete' }
  | { readonly kind: 'complete'; readonly value: T; readonly length: number }
  | { readonly kind: 'invalid'; readonly reason: string; readonly response: Uint8Array };

/** Reply codes (RFC 1928, 6). */
export const reply = { succeeded: 0, failure: 1, refused: 2, unreachable: 4, closed: 5 } as const;

const version = 5;
const noAuthentication = 0;
const noAcceptableMethod = 0xff;
const connect = 1;
const addressTypes = { ipv4: 1, domain: 3, ipv6: 4 } as const;
const unknownCommand = 7;
const unknownAddressType = 8;

/** The reply to a greeting: no authentication. */
export const greetingResponse = Uint8Array.of(version, noAuthentication);

/** Returns the reply to a request. It has no bound address, because no client needs it for CONNECT. */
export const requestResponse = (code: number): Uint8Array =>
  Uint8Array.of(version, code, 0, addressTypes.ipv4, 0, 0, 0, 0, 0, 0);

const incomplete = { kind: 'incomplete' } as const;

/** Parses the first message of RFC 1928: the authentication methods that a client supports. */
export function parseGreeting(bytes: Uint8Array): Parsed<undefined> {
  const [first, count] = bytes;
  if (first === undefined) return incomplete;
  const response = Uint8Array.of(version, noAcceptableMethod);
  if (first !== version) return { kind: 'invalid', reason: 'it does not speak SOCKS5', response };
  if (count === undefined || bytes.length < 2 + count) return incomplete;
  if (!bytes.subarray(2, 2 + count).includes(noAuthentication))
    return {
      kind: 'invalid',
      reason: 'it requires authentication, which this proxy does not support',
      response,
    };
  return { kind: 'complete', value: undefined, length: 2 + count };
}

/** Parses the second message: CONNECT to an address or a name. */
export function parseRequest(bytes: Uint8Array): Parsed<Destination> {
  const [first, command, , type] = bytes;
  if (first !== undefined && first !== version) return invalid('it does not speak SOCKS5', reply.failure);
  if (command !== undefined && command !== connect)
    return invalid(`SOCKS5 command ${command} is not supported (only CONNECT)`, unknownCommand);
  if (type === undefined) return incomplete;
  const span = addressLength(type, bytes[4]);
  if (span === undefined)
    return invalid(`it names an address of the unknown type ${type}`, unknownAddressType);
  if (span === 'incomplete' || bytes.length < span.end + 2) return incomplete;
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const address = view.subarray(span.start, span.end);
  const host = type === addressTypes.domain ? parseName(address.toString('latin1')) : textOf(address);
  const port = view.readUInt16BE(span.end);
  if (host === undefined) return invalid('its host is not a valid DNS name', reply.failure);
  if (port === 0) return invalid('it requests port 0', reply.failure);
  return { kind: 'complete', value: { host, port }, length: span.end + 2 };
}

const invalid = (reason: string, code: number): Parsed<Destination> => ({
  kind: 'invalid',
  reason,
  response: requestResponse(code),
});

/** Returns the range of the address in a request; undefined for an unknown address type. */
function addressLength(
  type: number,
  nameLength: number | undefined,
): { readonly start: number; readonly end: number } | 'incomplete' | undefined {
  if (type === addressTypes.ipv4) return { start: 4, end: 8 };
  if (type === addressTypes.ipv6) return { start: 4, end: 20 };
  if (type !== addressTypes.domain) return undefined;
  return nameLength === undefined ? 'incomplete' : { start: 5, end: 5 + nameLength };
}

/**
 * Parses a host name. Clients also send addresses as names; those in brackets are IPv6. Undefined for a text
 * that is neither a name nor an address.
 */
export function parseName(text: string): string | undefined {
  const bare = text.replace(/^\[(.*)\]$/u, '$1');
  if (isIPv4(bare) || (isIPv6(bare) && !bare.includes('%'))) return bare;
  const name = text.toLowerCase().replace(/\.$/u, '');
  return /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/u.test(
    name,
  )
    ? name
    : undefined;
}

function textOf(address: Buffer): string {
  if (address.length === 4) return address.join('.');
  const groups = Array.from({ length: 8 }, (_, index) => address.readUInt16BE(index * 2).toString(16));
  return new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1);
}

/**
 * Reads the destination that a client requests after connecting; further data stays in the socket. If the
 * client speaks another protocol, sends SOCKS5's reply and rejects with INVALID_ARGUMENT, which describes the
 * error; also rejects if `signal` aborts first.
 */
export async function receiveRequest(socket: Socket, signal: AbortSignal): Promise<Destination> {
  await receive(socket, parseGreeting, signal);
  socket.write(greetingResponse);
  return receive(socket, parseRequest, signal);
}

async function receive<T>(
  socket: Socket,
  parse: (bytes: Uint8Array) => Parsed<T>,
  signal: AbortSignal,
): Promise<T> {
  let bytes = Buffer.alloc(0);
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) {
      await waitForData(socket, signal);
      continue;
    }
    bytes = Buffer.concat([bytes, chunk]);
    const parsed = parse(bytes);
    if (parsed.kind === 'invalid') {
      socket.end(parsed.response);
      throw new ProductError('INVALID_ARGUMENT', `A client was refused: ${parsed.reason}`);
    }
    if (parsed.kind === 'complete') {
      if (bytes.length > parsed.length) socket.unshift(bytes.subarray(parsed.length));
      return parsed.value;
    }
  }
}

async function waitForData(socket: Socket, signal: AbortSignal): Promise<void> {
  const refusedError = (what: string): ProductError =>
    new ProductError('INVALID_ARGUMENT', `A client was refused: ${what}`);
  if (signal.aborted) throw refusedError('it timed out before it sent a destination');
  if (socket.readableEnded || socket.destroyed)
    throw refusedError('it closed the connection before it sent a destination');
  const listening = new AbortController();
  const either = AbortSignal.any([signal, listening.signal]);
  try {
    await Promise.race(['readable', 'end', 'close'].map((event) => once(socket, event, { signal: either })));
  } catch (error) {
    if (signal.aborted) throw refusedError('it timed out before it sent a destination');
    throw error;
  } finally {
    listening.abort();
  }
}
