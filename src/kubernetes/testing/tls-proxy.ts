import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';
import type { KeyPair } from './certificates.ts';

export interface TlsProxy {
  readonly url: string;
  /** The subject of the client certificate that the proxy received, for each tunnel request. */
  readonly shown: (string | undefined)[];
  close(): void;
}

/**
 * Starts a proxy with TLS that accepts any client certificate. Its tunnels all end at that port of this
 * machine.
 */
export async function startTlsProxy({ certificate, key }: KeyPair, target: number): Promise<TlsProxy> {
  const shown: (string | undefined)[] = [];
  const server = createServer({ cert: certificate, key, requestCert: true, rejectUnauthorized: false });
  server.on('connect', (request, socket) => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate();
    shown.push(subject === undefined ? undefined : String(subject.CN));
    const upstream = connect(target, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('error', () => socket.destroy()).on('close', () => upstream.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shown,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
