import { constants } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { ProductError } from '../../src/errors/product-error.ts';
import { ApiError } from '../../src/kubernetes/client/api-error.ts';
import type { PodConsole } from '../node/pod-console.ts';
import { authorize } from './access/authorize.ts';
import { headersTooLarge, internalError, pathNotFound } from './errors/status-errors.ts';
import { answerError } from './http/answer.ts';
import { drainRequest } from './http/discard-body.ts';
import { authenticateAndAuthorize, handleRequest, parseUrl, type ServerContext } from './http/dispatch.ts';
import { serveExec } from './http/pod-exec.ts';
import { parseResourceRoute } from './http/resource-route.ts';
import type { LocalApi } from './local-api.ts';
import { loadCredentials } from './pki/credentials.ts';
import { writeKubeconfig } from './pki/kubeconfig-file.ts';
import { writePort, readPort } from './pki/kept-port.ts';

export interface ApiServerOptions {
  readonly api: LocalApi;
  readonly console: PodConsole;
  /** The cluster's directory. `pki/` and `kubeconfig` are created in it. */
  readonly directory: string;
  /**
   * The port on 127.0.0.1. Absent: the port of the last start, or a free one at the first start. 0: a free
   * one.
   */
  readonly port?: number;
  /** Called with internal errors (HTTP 500). */
  readonly onError: (error: unknown) => void;
  /** Called with each request before it is served, for an access log. Headers contain secrets. */
  readonly onRequest?: (request: IncomingMessage) => void;
}

export interface ApiServer {
  /** `https://127.0.0.1:<port>` */
  readonly url: string;
  /** The path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Stops listening and ends every connection, watches included. Does not close the LocalApi. */
  close(): Promise<void>;
}

const maximumHeaders = 200;

/**
 * Serves the API over TLS 1.2+ on 127.0.0.1. Resolves when it is ready and its kubeconfig is written. Rejects
 * with ProductError CLUSTER_PORT_TAKEN if another process uses the port.
 */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const { api, console: pods, directory } = options;
  const credentials = await loadCredentials(directory, api.registry.clock.now());
  const server = createServer({
    cert: credentials.serverCertificate,
    key: credentials.serverKey,
    ca: credentials.authority,
    requestCert: true,
    // The TLS handshake must not fail without a client certificate, so that the client gets a 401;
    // authenticate() checks the result.
    rejectUnauthorized: false,
    minVersion: 'TLSv1.2',
    // The user of a connection is cached (authenticate.ts), so it must not change.
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    // The same limit as in Go: the command of an exec is in the URL.
    maxHeaderSize: 1024 * 1024,
    // These limit the time for everything before the request is known, and for its body. The response of a
    // watch may take any time.
    handshakeTimeout: 10_000,
    headersTimeout: 10_000,
    requestTimeout: 60_000,
    connectionsCheckingInterval: 2000,
  });
  // Limits open sockets so that the journal and the node keep file descriptors.
  server.maxConnections = 1000;
  // Node drops headers above the limit silently, so read one more than allowed to detect it (serve).
  server.maxHeadersCount = maximumHeaders + 1;
  const served: ServerContext = { registry: api.registry, console: pods, token: credentials.token };
  // The same time as in Go: clients that reuse connections must not find them closed during a request.
  server.keepAliveTimeout = 180_000;
  server.on('request', (request, response) => void serve(served, request, response, options.onError));
  const { onRequest } = options;
  if (onRequest !== undefined) server.on('request', onRequest).on('upgrade', onRequest);
  const upgraded = new Set<Duplex>();
  server.on('upgrade', (request, socket, head) => {
    upgraded.add(socket);
    socket.on('close', () => upgraded.delete(socket));
    void upgrade(served, { request, socket, head }, options.onError);
  });
  const port = await listen(server, options.port ?? readPort(directory));
  writePort(directory, port);
  const url = `https://127.0.0.1:${port}`;
  const kubeconfig = writeKubeconfig(directory, url, credentials);
  return { url, kubeconfig, close: () => closeServer(server, upgraded) };
}

async function serve(
  served: ServerContext,
  request: IncomingMessage,
  response: ServerResponse,
  onError: (error: unknown) => void,
): Promise<void> {
  try {
    checkHeaderCount(request);
    await handleRequest(served, request, response);
  } catch (error) {
    if (!(error instanceof ApiError) && !response.destroyed) onError(error);
    if (!response.headersSent) await drainRequest(request);
    if (response.headersSent || response.destroyed) response.destroy();
    else {
      if (!request.complete) response.setHeader('connection', 'close');
      answerError(response, asApiError(error));
    }
  }
}

/**
 * Dropping a header such as `Impersonate-User` would change the user of the request, so too many headers are
 * rejected. Throws ApiError 431.
 */
function checkHeaderCount({ rawHeaders }: IncomingMessage): void {
  if (rawHeaders.length > 2 * maximumHeaders) throw headersTooLarge(`more than ${maximumHeaders} headers`);
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

async function upgrade(
  served: ServerContext,
  { request, socket, head }: Upgrade,
  onError: (error: unknown) => void,
): Promise<void> {
  socket.on('error', () => socket.destroy());
  try {
    checkHeaderCount(request);
    const { pathname, searchParams: query } = parseUrl(request);
    const user = authenticateAndAuthorize(served, request, { path: pathname, query });
    const route = parseResourceRoute(served.registry, pathname);
    if (route.kind.name !== 'Pod' || route.subresource !== 'exec') throw pathNotFound();
    // Since 1.35 the GET of a WebSocket needs the same right as a POST (kubernetes:
    // pkg/registry/core/pod/rest/subresources.go).
    const { namespace, name } = route;
    const target = { group: '', resource: 'pods', subresource: 'exec', namespace, name };
    authorize(served.registry, user, { verb: 'create', ...target });
    await serveExec({ ...served, route, query, request }, socket, head);
  } catch (error) {
    if (!(error instanceof ApiError) && !socket.destroyed) onError(error);
    refuseUpgrade(socket, asApiError(error));
  }
}

function refuseUpgrade(socket: Duplex, { status }: ApiError): void {
  if (socket.destroyed) return;
  const body = JSON.stringify(status);
  socket.end(
    `HTTP/1.1 ${status.code} ${STATUS_CODES[status.code] ?? 'Error'}\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    // The client might never close its side, and HTTP timeouts no longer apply to an upgraded socket.
    () => socket.destroy(),
  );
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return internalError(error instanceof Error ? error.message : 'unknown error');
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const taken = new ProductError(
        'CLUSTER_PORT_TAKEN',
        `port ${port} of 127.0.0.1, which this cluster's kubeconfigs name, is in use by another process; stop that process and start again`,
        { cause: error },
      );
      reject(error.code === 'EADDRINUSE' ? taken : error);
    });
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function closeServer(server: Server, upgraded: ReadonlySet<Duplex>): Promise<void> {
  return new Promise((resolve, reject) => {
    server.close((error) => (error === undefined ? resolve() : reject(error)));
    server.closeAllConnections();
    // Upgraded sockets are no longer HTTP connections.
    for (const socket of upgraded) socket.destroy();
  });
}
