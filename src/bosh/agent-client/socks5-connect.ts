import { once } from 'node:events';
import { connect, isIPv4, type Socket } from 'node:net';
import { ProductError } from '../../errors/product-error.ts';

/** A SOCKS5 proxy without a password. */
export interface Socks5Proxy {
  readonly host: string;
  readonly port: number;
}

export const proxyVariable = 'BOSH_ALL_PROXY';

/**
 * Returns the proxy in BOSH_ALL_PROXY, or undefined if the variable is not set. Of the bosh CLI's forms only
 * socks5://HOST:PORT is supported. Throws INVALID_ARGUMENT for any other form and does not quote it, since it
 * may contain a password.
 */
export function parseAllProxy(text: string | undefined): Socks5Proxy | undefined {
  if (text === undefined || text === '') return undefined;
  const invalidProxy = (reason: string): ProductError =>
    new ProductError(
      'INVALID_ARGUMENT',
      `${proxyVariable} ${reason}; set it to socks5://HOST:PORT, or unset it`,
    );
  if (text.startsWith('ssh+socks5:'))
    throw invalidProxy(
      'is an ssh+socks5 URL, which only the bosh CLI can use: open that tunnel with ssh -D PORT',
    );
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'socks5:' || url.hostname === '') throw invalidProxy('is not a socks5 URL');
  if (url.username !== '' || url.password !== '')
    throw invalidProxy('has a user or password, which is not supported');
  if (url.port === '') throw invalidProxy('names no port');
  return { host: url.hostname.replace(/^\[|\]$/gu, ''), port: Number(url.port) };
}

/** Messages for the reply codes (RFC 1928, 6). */
const replyMessages: Readonly<Record<number, string>> = {
  1: 'could not connect',
  2: 'refuses that address',
  3: 'has no route to that network',
  4: 'cannot reach that host',
  5: 'was refused the connection',
  6: 'waited too long',
};

/**
 * Connects to a host and port through the proxy. Rejects with an Error that names the proxy, or with a system
 * error. `signal` aborts the attempt; it has no effect on the connection after that.
 */
export async function socks5Connect(
  proxy: Socks5Proxy,
  { host, port }: { readonly host: string; readonly port: number },
  signal?: AbortSignal,
): Promise<Socket> {
  const socket = connect({ host: proxy.host, port: proxy.port, noDelay: true });
  const abort = (): void => void socket.destroy(new Error(`${describeError(proxy)} did not respond in time`));
  signal?.addEventListener('abort', abort);
  if (signal?.aborted === true) abort();
  try {
    await once(socket, 'connect');
    socket.write(Uint8Array.of(5, 1, 0));
    const [, method] = await read(socket, 2);
    if (method !== 0) throw new Error(`${describeError(proxy)} requires a password`);
    socket.write(Uint8Array.of(5, 1, 0, ...addressBytes(host), port >> 8, port & 0xff));
    const [, code = 1, , type, length = 0] = await read(socket, 5);
    if (code !== 0)
      throw new Error(
        `${describeError(proxy)} ${replyMessages[code] ?? `answers code ${code}`}; its log says why`,
      );
    // Skip the rest of the bound address, of which one byte has been read, and its port.
    await read(socket, (type === 1 ? 4 : type === 4 ? 16 : length + 1) - 1 + 2);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** Encodes the address. IPv6 addresses are sent as names, which proxies accept as well. */
function addressBytes(host: string): readonly number[] {
  if (isIPv4(host)) return [1, ...host.split('.').map(Number)];
  const name = Buffer.from(host);
  if (name.length > 255) throw new Error('the host name is too long for a SOCKS5 proxy');
  return [3, name.length, ...name];
}

const describeError = ({ host, port }: Socks5Proxy): string =>
  `the proxy ${host}:${port} of ${proxyVariable}`;

async function read(socket: Socket, length: number): Promise<Buffer> {
  for (;;) {
    const bytes = socket.read(length) as Buffer | null;
    if (bytes !== null && bytes.length === length) return bytes;
    if (socket.readableEnded || socket.destroyed || bytes !== null)
      throw new Error('the proxy closed the connection before it responded');
    await once(socket, 'readable');
  }
}
