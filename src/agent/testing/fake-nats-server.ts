import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import type { NatsCredentials } from '../mbus/nats-connection.ts';

/** Gets each line of a client, the connection, and its number. Returns true if the line is answered. */
type AnswerLine = (line: string, socket: Socket, connection: number) => boolean;

/** A NATS server that misbehaves as a test says, over TLS. It reads only what an agent sends. */
export class FakeNatsServer {
  readonly credentials: NatsCredentials;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;

  private constructor(server: Server, sockets: Set<Socket>, credentials: NatsCredentials) {
    this.#server = server;
    this.#sockets = sockets;
    this.credentials = credentials;
  }

  /** `answer` is called first for each line, and the server answers the lines that it leaves. */
  static async start(answer: AnswerLine, info: object = {}): Promise<FakeNatsServer> {
    const authority = await createTestAuthority({ name: 'nats-ca' });
    const { certificate: cert, key } = await authority.server(
      { ip: '127.0.0.1' },
      'default.nats.bosh-internal',
    );
    const sockets = new Set<Socket>();
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      const connection = connections;
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => {});
      const limits = { max_payload: 1024 * 1024, proto: 1, version: '2.10.0', tls_required: true };
      socket.write(`INFO ${JSON.stringify({ ...limits, ...info })}\r\n`);
      const secure = new TLSSocket(socket, { isServer: true, cert, key });
      secure.on('error', () => {});
      serve(secure, (line) => answer(line, secure, connection));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const agent = await authority.client('agent');
    const credentials = { certificate: agent.certificate, privateKey: agent.key, ca: authority.ca };
    return new FakeNatsServer(server, sockets, credentials);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

function serve(socket: Socket, answer: (line: string) => boolean): void {
  let text = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    text += chunk;
    const lines = text.split('\r\n');
    text = lines.pop() ?? '';
    for (const line of lines) if (!answer(line) && line === 'PING') socket.write('PONG\r\n');
  });
}

/** Returns a message for the first subscription of a connection. */
export const messageFor = (subject: string, body: string): string =>
  `MSG ${subject} 1 ${Buffer.byteLength(body)}\r\n${body}\r\n`;
