import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';

/** The credentials `user:pass word`. */
const expected = `Basic ${Buffer.from('user:pass word').toString('base64')}`;

/** Starts an HTTP proxy whose tunnels all end at that port of this machine. Clients need its password. */
export async function startProxy(target: string): Promise<{ port: number; close(): void }> {
  const server = createServer();
  server.on('connect', (request, socket) => {
    socket.on('error', () => socket.destroy());
    if (request.headers['proxy-authorization'] !== expected) {
      socket.end('HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n', () =>
        socket.destroy(),
      );
      return;
    }
    const upstream = connect(Number(target), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy());
    upstream.on('close', () => socket.destroy());
    socket.on('close', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}
