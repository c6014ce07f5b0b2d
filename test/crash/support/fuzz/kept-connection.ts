import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type TLSSocket } from 'node:tls';
import type { TestServer } from '../../../../embedded-cluster/api-server/testing/test-server.ts';
import type { FuzzRequest } from './fuzz-requests.ts';

export interface FuzzAnswer {
  readonly code: number;
  readonly text: string;
}

const headEnd = Buffer.from('\r\n\r\n');

/**
 * One connection on which requests follow responses. It implements only the HTTP features that the server
 * uses: every body has a length.
 */
export class KeptConnection {
  readonly #socket: TLSSocket;
  readonly #host: string;
  #received: Buffer = Buffer.alloc(0);
  #onMore: () => void = () => {};

  private constructor(socket: TLSSocket, host: string) {
    this.#socket = socket;
    this.#host = host;
    socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#onMore();
    });
    socket.on('close', () => this.#onMore());
    // 'close' follows, and the waiting request gets it.
    socket.on('error', () => {});
  }

  static async open({ url, credentials }: TestServer): Promise<KeptConnection> {
    const { hostname, port, host } = new URL(url);
    const { authority: ca, adminCertificate: cert, adminKey: key } = credentials;
    const socket = connect({ host: hostname, port: Number(port), ca, cert, key });
    await once(socket, 'secureConnect');
    return new KeptConnection(socket, host);
  }

  close(): void {
    this.#socket.destroy();
  }

  async send({ method, path, headers, body }: FuzzRequest): Promise<FuzzAnswer> {
    const takesBody = body !== undefined || ['POST', 'PUT', 'PATCH'].includes(method);
    const fields = {
      host: this.#host,
      ...headers,
      ...(takesBody && { 'content-length': String(Buffer.byteLength(body ?? '')) }),
    };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
    const head = await this.#take(() => {
      const end = this.#received.indexOf(headEnd);
      return end === -1 ? undefined : end + headEnd.length;
    });
    const [, code] = /^HTTP\/1\.1 (\d{3}) /u.exec(head) ?? assert.fail(`no answer of HTTP: ${head}`);
    if (method === 'HEAD') return { code: Number(code), text: '' };
    const [, length] = /^content-length: (\d+)\r$/imu.exec(head) ?? assert.fail(`no length: ${head}`);
    return { code: Number(code), text: await this.#take(() => Number(length)) };
  }

  /** Returns the bytes up to the result of `end` as soon as they have arrived. */
  async #take(end: () => number | undefined): Promise<string> {
    for (;;) {
      const length = end();
      if (length !== undefined && length <= this.#received.length) {
        const text = this.#received.toString('utf8', 0, length);
        this.#received = this.#received.subarray(length);
        return text;
      }
      assert.ok(!this.#socket.destroyed, 'the server ended the connection');
      await new Promise<void>((resolve) => {
        this.#onMore = resolve;
      });
    }
  }
}
