import { once } from 'node:events';
import { rmSync } from 'node:fs';
import type { Server } from 'node:http';
import type { ServerOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { ProductError } from '../../../errors/product-error.ts';
import type { Address, TlsFiles } from '../config.ts';
import { readPem } from '../secrets.ts';

/** Starts to listen. If the port is 0 the system chooses one. Returns host and port as in a URL. */
export async function listenTcp(server: Server, { host, port }: Address): Promise<string> {
  await listening(server, `${host}:${port}`, () => server.listen({ host, port }));
  const { port: bound } = server.address() as AddressInfo;
  return `${host.includes(':') ? `[${host}]` : host}:${bound}`;
}

/**
 * Starts to listen on a unix socket that only this user can open. Removes an existing socket or file at the
 * path.
 */
export async function listenUnix(server: Server, path: string): Promise<void> {
  rmSync(path, { force: true });
  await listening(server, path, () => {
    // sets the umask, because this call creates the socket: a later chmod by path could hit another file, if
    // other users can write to the directory
    const before = process.umask(0o177);
    try {
      server.listen({ path });
    } finally {
      process.umask(before);
    }
  });
}

async function listening(server: Server, where: string, listen: () => void): Promise<void> {
  const started = once(server, 'listening');
  try {
    listen();
    await started;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new ProductError(
      'DRIVER_CONFIG_INVALID',
      `volumes driver cannot listen at ${where} (${String(error.code)}): stop the program that listens there, or set -listenAddr or -adminAddr to a free address of this machine`,
    );
  }
}

/** Finishes requests that have begun, for `deadlineMs` at most, and resolves when everything is closed. */
export async function closeServer(server: Server, deadlineMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearTimeout(timer);
}

/** Returns the options for mutual TLS. Clients need a certificate of the CA. */
export async function tlsOptions({ ca, certificate, key }: TlsFiles): Promise<ServerOptions> {
  return {
    ca: await readPem('caFile', ca),
    cert: await readPem('certFile', certificate),
    key: await readPem('keyFile', key),
    requestCert: true,
    rejectUnauthorized: true,
    minVersion: 'TLSv1.2',
  };
}
