import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import { isIPv4, type AddressInfo } from 'node:net';
import { freeSpaceHint } from '../../errors/text.ts';
import { type LocalBlobs, isBlobId } from '../blob/local-blobs.ts';
import { errorMessage } from '../file/error-code.ts';
import type { Log } from '../log.ts';
import type { Bus } from './bus.ts';
import type { BusAddress } from './bus-address.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { BusCertificate } from '../settings/settings.ts';
import { dispatch, parseRequest, type DispatchOptions } from './dispatch.ts';
import { createHash, timingSafeEqual } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

export interface HttpsBusOptions {
  readonly address: BusAddress;
  /** PEM. */
  readonly certificate: Pick<BusCertificate, 'certificate' | 'privateKey'>;
  /** The VM's own blobs. */
  readonly blobs: LocalBlobs;
  readonly log: Log;
}

type ServerOptions = HttpsBusOptions & DispatchOptions;

const bodyLimit = 32 * 1024 * 1024;

/**
 * The HTTPS bus of create-env (bosh-agent: mbus/https_handler.go): `POST /agent` and `/blobs/`. All requests
 * need Basic authentication.
 */
export class HttpsBus implements Bus {
  readonly hasHealthMonitor = false;
  readonly #options: HttpsBusOptions;
  #servers: readonly Server[] = [];
  #port: number | undefined;

  constructor(options: HttpsBusOptions) {
    this.#options = options;
  }

  get port(): number | undefined {
    return this.#port;
  }

  async start(dispatchOptions: DispatchOptions): Promise<void> {
    const options = { ...dispatchOptions, ...this.#options };
    const { address, log } = options;
    const server = newServer(options);
    await listen(server, address);
    const { port } = server.address() as AddressInfo;
    this.#port = port;
    this.#servers = [server];
    log.info(`mbus: the agent listens on ${address.host}:${port}`);
    // A forwarded port connects to the pod's loopback address, so listen there as well.
    if (!isVmAddress(address.host)) return;
    const local = newServer(options);
    try {
      await listen(local, { host: '127.0.0.1', port });
      this.#servers = [server, local];
    } catch (error) {
      // This is not fatal: the VM works without it.
      log.error(`mbus: a forwarded port cannot reach the agent: ${errorMessage(error)}`);
    }
  }

  async exchangeCertificate(): Promise<void> {
    throw new ProductError(
      'AGENT_NOT_SUPPORTED',
      'the certificate of the HTTPS bus belongs to the VM: recreate the VM to change it',
    );
  }

  /** create-env has no health monitor. */
  publish(): void {}

  async close(): Promise<void> {
    const servers = this.#servers;
    this.#servers = [];
    await Promise.all(servers.map(close));
  }
}

function newServer(options: ServerOptions): Server {
  const isAllowed = basicAuthentication(options.address.user, options.address.password);
  const { certificate, privateKey } = options.certificate;
  const server = createServer(
    { cert: certificate, key: privateKey, minVersion: 'TLSv1.2' },
    (request, response) => {
      if (!isAllowed(request.headers.authorization)) return unauthorized(request, response);
      route(options, request, response).catch((error: unknown) =>
        internalError(options.log, request, response, error),
      );
    },
  );
  // Uploads may be large and slow. Idle connections still time out.
  server.requestTimeout = 0;
  return server;
}

/**
 * Returns true for an address that only this VM has. VMs of the embedded cluster share the host's network and
 * get addresses of 127.0.0.0/8.
 */
function isVmAddress(host: string): boolean {
  return isIPv4(host) && host !== '0.0.0.0' && !host.startsWith('127.');
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeAllConnections();
  });
}

async function route(
  options: ServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
  if (path.startsWith('/blobs/')) return serveBlob(options.blobs, path, request, response);
  if (path !== '/agent' || request.method !== 'POST') return void response.writeHead(404).end();
  const body = await readBody(request);
  const call = body === undefined ? undefined : parseRequest(body);
  if (call === undefined) return void response.writeHead(400).end();
  const answer = JSON.stringify(await dispatch(call, options));
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer);
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > bodyLimit) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function unauthorized(request: IncomingMessage, response: ServerResponse): void {
  response.writeHead(401, { 'www-authenticate': 'Basic realm="agent"', connection: 'close' }).end();
  request.resume();
}

function internalError(log: Log, request: IncomingMessage, response: ServerResponse, error: unknown): void {
  log.error(`mbus: ${request.method} ${request.url?.split('?', 1)[0]} failed: ${errorMessage(error)}`);
  if (response.headersSent) response.destroy();
  // The deployer prints this message. A retry would not help against a full disk.
  else if (freeSpaceHint(error) !== undefined)
    response.writeHead(507, { connection: 'close' }).end(errorMessage(error));
  else response.writeHead(500, { connection: 'close' }).end();
}

function listen(server: Server, address: Pick<BusAddress, 'host' | 'port'>): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address.port, address.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** Returns a check of the Authorization header that takes the same time for every wrong value. */
function basicAuthentication(user: string, password: string): (header: string | undefined) => boolean {
  const expected = sha256(`${user}:${password}`);
  return (header) => {
    const match = /^basic +([A-Za-z0-9+/=_-]+) *$/i.exec(header ?? '');
    const given = match?.[1] === undefined ? '' : Buffer.from(match[1], 'base64').toString('utf8');
    return timingSafeEqual(sha256(given), expected) && match !== null;
  };
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Serves GET and PUT of `/blobs/<anything>/<id>`. Only the last path element is used (bosh-agent:
 * mbus/https_handler.go). PUT responds with 201, or 400 if the id is not a safe file name. GET responds with
 * 200 or 404, any other method with 404.
 */
export async function serveBlob(
  blobs: LocalBlobs,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const id = decodeId(path.slice(path.lastIndexOf('/') + 1));
  if (request.method === 'GET') return sendBlob(blobs, id, response);
  if (request.method !== 'PUT') return void response.writeHead(404).end();
  if (id === undefined) return void response.writeHead(400).end();
  await blobs.write(id, request);
  response.writeHead(201).end();
}

async function sendBlob(blobs: LocalBlobs, id: string | undefined, response: ServerResponse): Promise<void> {
  const blob = id === undefined ? undefined : await blobs.find(id);
  if (blob === undefined) return void response.writeHead(404).end();
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': blob.size });
  await pipeline(createReadStream(blob.path), response);
}

function decodeId(text: string): string | undefined {
  try {
    const id = decodeURIComponent(text);
    return isBlobId(id) ? id : undefined;
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
