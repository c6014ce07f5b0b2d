import { rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { ProductError } from '../../../errors/product-error.ts';
import type { Address } from '../config.ts';

/**
 * Starts to listen, on a port that the system chooses where it is 0; resolves with host and port as in a URL.
 */
export async function listenTcp(server: Server, { host, port }: Address): Promise<string> {
  await listening(server, `${host}:${port}`, () => server.listen({ host, port }));
  const { port: bound } = server.address() as AddressInfo;
  return `${host.includes(':') ? `[${host}]` : host}:${bound}`;
}

/** Starts to listen on a unix socket that only this user opens. A socket or file in its place is removed. */
export async function listenUnix(server: Server, path: string): Promise<void> {
  rmSync(path, { force: true });
  await listening(server, path, () => {
    // the socket is made in this call, and changed by its path later it could be another one: others may
    // write there
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
      `volumes driver cannot listen at ${where} (${String(error.code)}): stop what listens there, or give -listenAddr or -adminAddr a free address of this machine`,
    );
  }
}

/** Answers what has begun, up to a deadline, and resolves when all is closed. */
export async function closeServer(server: Server, deadlineMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), deadlineMs);
  await closed;
  clearTimeout(timer);
}
