import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect } from 'node:tls';
import type { NatsCredentials } from '../../src/agent/mbus/nats-connection.ts';

/** The JSON object that the client reads from stdin. */
export interface BareRequest {
  readonly port: number;
  readonly credentials: NatsCredentials;
  readonly subject: string;
}

const host = '127.0.0.1';

/**
 * The least that an agent needs for a heartbeat: it connects to NATS, does the TLS handshake with its
 * certificate and publishes one message. It prints the milliseconds until the server has confirmed the
 * message, and stays connected until it gets SIGTERM.
 */
const { port, credentials, subject } = JSON.parse(await text(process.stdin)) as BareRequest;
const began = performance.now();
const plain = createConnection({ host, port });
await received(plain, 'INFO ');
const { certificate: cert, privateKey: key, ca } = credentials;
const socket = connect({ socket: plain, host, cert, key, ca });
await once(socket, 'secureConnect');
const confirmed = received(socket, 'PONG');
socket.write(`CONNECT {"verbose":false}\r\nPUB ${subject} 2\r\n{}\r\nPING\r\n`);
await confirmed;
process.stdout.write(`${performance.now() - began}\n`);

/** Waits for a line that begins with a word. */
function received(from: Socket, word: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let lines = '';
    const read = (chunk: Buffer): void => {
      lines += chunk.toString('utf8');
      if (!lines.split('\r\n').some((line) => line.startsWith(word))) return;
      from.off('data', read);
      resolve();
    };
    from.on('data', read).on('error', reject);
  });
}
