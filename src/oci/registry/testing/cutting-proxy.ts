import type { AddressInfo, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import type { TestContext } from 'node:test';

export interface CuttingProxy {
  /** https, of the same certificate. */
  readonly origin: string;
  /** Bytes that came from the client. */
  readonly sent: () => number;
  readonly cuts: () => number;
}

/** Passes TCP on to a port of this machine, and cuts the connection on which byte `at` of all that is sent comes. */
export async function startCuttingProxy(t: TestContext, target: string, at: number): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let sent = 0;
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const end = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', end).on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    upstream.pipe(client);
    client.on('data', (chunk: Buffer) => {
      const isCut = sent < at && sent + chunk.length >= at;
      upstream.write(isCut ? chunk.subarray(0, at - sent) : chunk);
      sent += chunk.length;
      if (!isCut) return;
      cuts += 1;
      client.destroy();
      // what came before the cut arrives
      upstream.end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });
  const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { origin, sent: () => sent, cuts: () => cuts };
}
