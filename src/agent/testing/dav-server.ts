import { createHash, createHmac } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';

import type { BlobstoreSettings } from '../settings/settings.ts';

const user = 'agent';
const password = 'blobstore-password-of-the-test';
const secret = 'secret-of-signed-urls';

/**
 * The WebDAV blobstore of a director over TLS, with its signed URLs (bosh: jobs/blobstore, nginx.conf.erb).
 */
export class DavServer {
  readonly blobs = new Map<string, Buffer>();
  /** The answer of the next PUT, for tests of a full blobstore; undefined: it is stored. */
  putStatus: number | undefined;
  /** Gets each request first, and returns true if it has answered it. */
  intercept: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  readonly ca: string;
  readonly #server: Server;
  readonly #address: string;

  private constructor(server: Server, ca: string, address: string) {
    this.#server = server;
    this.ca = ca;
    this.#address = address;
  }

  /** Starts a server at an address of this machine. */
  static async start({ address = '127.0.0.1' }: { address?: string } = {}): Promise<DavServer> {
    const authority = await createTestAuthority({ name: 'blobstore-ca' });
    const { certificate, key } = await authority.server({ ip: address });
    const server = createServer({ cert: certificate, key });
    const dav = new DavServer(server, authority.ca, address);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      dav.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    server.listen(0, address);
    await once(server, 'listening');
    return dav;
  }

  get endpoint(): string {
    return `https://${this.#address}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The blobstore in env.bosh.blobstores. */
  get settings(): BlobstoreSettings {
    const options = { endpoint: this.endpoint, user, password, tls: { cert: { ca: this.ca } } };
    return { provider: 'dav', options };
  }

  add(id: string, content: Buffer): void {
    this.blobs.set(pathOf(id), content);
  }

  find(id: string): Buffer | undefined {
    return this.blobs.get(pathOf(id));
  }

  signedUrl(method: 'GET' | 'PUT', id: string): string {
    const seconds = Math.floor(Date.now() / 1000);
    const signature = sign(method, pathOf(id), seconds);
    return `${this.endpoint}/signed${pathOf(id)}?st=${signature}&ts=${seconds}&e=86400`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.intercept(request, response)) return;
    const url = new URL(request.url ?? '/', this.endpoint);
    const isSigned = url.pathname.startsWith('/signed/');
    const path = isSigned ? url.pathname.slice('/signed'.length) : url.pathname;
    const { method = '' } = request;
    const isAllowed = isSigned
      ? url.searchParams.get('st') === sign(method, path, Number(url.searchParams.get('ts')))
      : request.headers.authorization === `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
    if (!isAllowed) return void response.writeHead(401).end();
    if (method === 'PUT') {
      const content = await buffer(request);
      if (this.putStatus !== undefined) return void response.writeHead(this.putStatus).end();
      this.blobs.set(path, content);
      return void response.writeHead(201).end();
    }
    const content = this.blobs.get(path);
    if (content === undefined) return void response.writeHead(404).end();
    if (method === 'DELETE') this.blobs.delete(path);
    response.writeHead(200).end(method === 'GET' ? content : undefined);
  }
}

const pathOf = (id: string): string => `/${createHash('sha1').update(id).digest('hex').slice(0, 2)}/${id}`;

const sign = (method: string, path: string, seconds: number): string =>
  createHmac('sha256', secret)
    .update(`${method}${path.slice(1)}${seconds}86400`)
    .digest('base64url');
