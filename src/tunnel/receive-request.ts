import { once } from 'node:events';
import type { Socket } from 'node:net';
import { ProductError } from '../errors/product-error.ts';
import { greetingAnswer, parseGreeting, parseRequest, type Destination, type Parsed } from './socks5.ts';

/**
 * Reads the destination that a client requests after connecting; further data stays in the socket. If the
 * client speaks another protocol, sends SOCKS5's reply and rejects with INVALID_ARGUMENT, which describes the
 * error; also rejects if `signal` aborts first.
 */
export async function receiveRequest(socket: Socket, signal: AbortSignal): Promise<Destination> {
  await receive(socket, parseGreeting, signal);
  socket.write(greetingAnswer);
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
    if (parsed.kind === 'wrong') {
      socket.end(parsed.answer);
      throw new ProductError('INVALID_ARGUMENT', `A client was refused: ${parsed.why}`);
    }
    if (parsed.kind === 'whole') {
      if (bytes.length > parsed.length) socket.unshift(bytes.subarray(parsed.length));
      return parsed.value;
    }
  }
}

async function waitForData(socket: Socket, signal: AbortSignal): Promise<void> {
  const refusedError = (what: string): ProductError =>
    new ProductError('INVALID_ARGUMENT', `A client was refused: ${what}`);
  if (signal.aborted) throw refusedError('it did not say in time where it wants to go');
  if (socket.readableEnded || socket.destroyed)
    throw refusedError('it ended before it had said where it wants to go');
  const heard = new AbortController();
  const either = AbortSignal.any([signal, heard.signal]);
  try {
    await Promise.race(['readable', 'end', 'close'].map((event) => once(socket, event, { signal: either })));
  } catch (error) {
    if (signal.aborted) throw refusedError('it did not say in time where it wants to go');
    throw error;
  } finally {
    heard.abort();
  }
}
