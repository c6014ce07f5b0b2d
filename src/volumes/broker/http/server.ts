import { createHash } from 'node:crypto';
import { createServer, STATUS_CODES } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { Duplex } from 'node:stream';
import {
  fastify,
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify';
import { collectDefaultMetrics, Counter, Histogram, Registry } from 'prom-client';
import { isProductError } from '../../../errors/product-error.ts';
import type { Broker } from '../broker.ts';
import { type JsonObject, tryDecodeUtf8, tryParseJson } from '../../../platform/json.ts';
import type { BindingTarget } from '../store/broker-store.ts';
import { badRequest, type BrokerResponse, errorResponse } from '../response.ts';
import { type BasicAuth, checkApiVersion, checkAuthorization, parseIdentity } from './auth.ts';

/** Maximum bytes of a request body. The parameters of a share have some hundred. */
const maxBodyBytes = 64 * 1024;
const maxIdLength = 255;
const requestIdentity = 'x-broker-api-request-identity';

interface ServerOptions {
  readonly broker: Broker;
  /** The body of GET /v2/catalog. */
  readonly catalog: object;
  readonly auth: BasicAuth;
  readonly metrics: BrokerMetrics;
  /** Resolves if records can be read. /healthz calls it. */
  readonly checkStore: () => Promise<void>;
  readonly logger: FastifyBaseLogger;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

/**
 * Returns the HTTP server of the broker: the ten endpoints of OSBAPI 2.17, /healthz and /metrics. It does not
 * listen yet.
 */
export function brokerServer(options: ServerOptions): FastifyInstance {
  const { broker, auth, metrics, checkStore, tls } = options;
  const app = fastify({
    loggerInstance: options.logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: maxBodyBytes,
    routerOptions: { maxParamLength: 4096 },
    forceCloseConnections: 'idle',
    clientErrorHandler: handleClientError,
    frameworkErrors: (_error, _request, reply) => void send(reply, badRequest('the path cannot be decoded')),
    serverFactory: (handler) => (tls === undefined ? createServer(handler) : createTlsServer(tls, handler)),
  });

  parseJsonBodies(app);
  handleErrors(app);
  logResponses(app, metrics);
  registerHealthCheck(app, checkStore);
  app.register(async (guarded) => {
    guarded.addHook('onRequest', async (request, reply) => {
      const refused = checkAuthorization(request.headers.authorization, auth);
      if (refused === undefined) return undefined;
      reply.header('www-authenticate', 'Basic realm="volume-broker", charset="UTF-8"');
      return send(reply, refused);
    });
    guarded.get('/metrics', async (_request, reply) =>
      reply.type(metrics.contentType).send(await metrics.text()),
    );
    guarded.register(async (api) => registerRoutes(api, broker, options.catalog), { prefix: '/v2' });
  });
  return app;
}

/** Parses each body as JSON, whatever its content type is. */
function parseJsonBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
    const parsed = parseBody(body as Buffer);
    if ('value' in parsed) done(null, parsed.value);
    else done(Object.assign(new Error(parsed.problem), { statusCode: 400 }));
  });
}

/** Responds to all errors with the codes of OSBAPI. */
function handleErrors(app: FastifyInstance): void {
  app.setNotFoundHandler((_request, reply) =>
    send(reply, errorResponse(404, 'NotFound', 'there is no such endpoint; the catalog is at /v2/catalog')),
  );
  app.setErrorHandler((error: Error & { statusCode?: number }, request, reply) => {
    if (isProductError(error, 'STORE_UNAVAILABLE')) {
      request.log.error(error.message);
      return send(reply, errorResponse(503, 'StoreUnavailable', error.message));
    }
    const { statusCode = 500 } = error;
    if (statusCode === 413)
      return send(
        reply,
        errorResponse(413, 'InvalidRequest', `the body has more than ${maxBodyBytes} bytes`),
      );
    if (statusCode >= 400 && statusCode < 500) return send(reply, badRequest(error.message));
    request.log.error({ err: error }, 'internal error');
    return send(reply, errorResponse(500, 'InternalError', 'internal error of the broker; see its log'));
  });
}

/** Counts and logs each response. */
function logResponses(app: FastifyInstance, metrics: BrokerMetrics): void {
  app.decorateRequest('user', undefined);
  app.addHook('onResponse', async (request, reply) => {
    const operation = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
    metrics.count(operation, reply.statusCode, reply.elapsedTime);
    request.log.info(
      {
        operation,
        path: request.url.split('?')[0]?.slice(0, 600),
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
        user: request.getDecorator<string | undefined>('user'),
        request: headerValue(request.headers[requestIdentity]),
      },
      'answered',
    );
  });
}

function registerHealthCheck(app: FastifyInstance, checkStore: () => Promise<void>): void {
  let pendingHealthCheck: Promise<void> | undefined;
  app.get('/healthz', async (_request, reply) => {
    // /healthz is unauthenticated, so concurrent requests share one check and cannot cause more work
    pendingHealthCheck ??= checkStore().finally(() => {
      pendingHealthCheck = undefined;
    });
    await pendingHealthCheck;
    return send(reply, { status: 200, body: { status: 'ok' } });
  });
}

function registerRoutes(api: FastifyInstance, broker: Broker, catalog: object): void {
  checkHeaders(api);
  registerCatalog(api, catalog);

  const instance = '/service_instances/:instanceId';
  api.put(
    instance,
    instanceRoute((id, request) => broker.provision(id, request.body)),
  );
  api.get(
    instance,
    instanceRoute((id) => broker.fetchInstance(id)),
  );
  api.patch(
    instance,
    instanceRoute((id, request) => broker.update(id, request.body)),
  );
  api.delete(
    instance,
    instanceRoute((id, request) => broker.deprovision(id, singleValuedQuery(request))),
  );
  api.get(
    `${instance}/last_operation`,
    instanceRoute((id) => broker.lastInstanceOperation(id)),
  );

  const binding = `${instance}/service_bindings/:bindingId`;
  api.put(
    binding,
    bindingRoute((target, request) => broker.bind(target, request.body)),
  );
  api.get(
    binding,
    bindingRoute((target) => broker.fetchBinding(target)),
  );
  api.delete(
    binding,
    bindingRoute((target, request) => broker.unbind(target, singleValuedQuery(request))),
  );
  api.get(
    `${binding}/last_operation`,
    bindingRoute((target) => broker.lastBindingOperation(target)),
  );
}

/** Rejects requests with an unsupported version or an invalid identity, and keeps their user for the log. */
function checkHeaders(api: FastifyInstance): void {
  api.addHook('onRequest', async (request, reply) => {
    const identity = headerValue(request.headers[requestIdentity]);
    if (identity !== undefined && /^[\x21-\x7e]{1,255}$/u.test(identity))
      reply.header(requestIdentity, identity);
    const refused = checkApiVersion(headerValue(request.headers['x-broker-api-version']));
    if (refused !== undefined) return send(reply, refused);
    const parsed = parseIdentity(headerValue(request.headers['x-broker-api-originating-identity']));
    if ('refused' in parsed) return send(reply, parsed.refused);
    request.setDecorator('user', parsed.identity?.userId);
    return undefined;
  });
}

/** Serves the catalog. A platform that has it already gets 304. */
function registerCatalog(api: FastifyInstance, catalog: object): void {
  const catalogText = JSON.stringify(catalog);
  const etag = `"${createHash('sha256').update(catalogText).digest('hex').slice(0, 32)}"`;
  api.get('/catalog', async (request, reply) => {
    reply.header('etag', etag);
    if (etagMatches(request.headers['if-none-match'], etag)) return reply.code(304).send();
    return reply.type('application/json; charset=utf-8').send(catalogText);
  });
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

function instanceRoute(work: (id: string, request: FastifyRequest) => Promise<BrokerResponse>): Handler {
  return async (request, reply) => {
    const id = parseId(request, 'instanceId');
    return send(
      reply,
      id === undefined ? badRequest(describeInvalidId('instance')) : await work(id, request),
    );
  };
}

function bindingRoute(
  work: (target: BindingTarget, request: FastifyRequest) => Promise<BrokerResponse>,
): Handler {
  return async (request, reply) => {
    const instanceId = parseId(request, 'instanceId');
    const bindingId = parseId(request, 'bindingId');
    if (instanceId === undefined) return send(reply, badRequest(describeInvalidId('instance')));
    if (bindingId === undefined) return send(reply, badRequest(describeInvalidId('binding')));
    return send(reply, await work({ instanceId, bindingId }, request));
  };
}

/**
 * Returns an id of the path, or undefined if it is invalid. Ids become parts of paths on cells, so only the
 * unreserved characters of RFC 3986 are valid, which the specification recommends.
 */
function parseId(request: FastifyRequest, name: string): string | undefined {
  const id = (request.params as Record<string, string | undefined>)[name] ?? '';
  return /^[A-Za-z0-9_~-][A-Za-z0-9._~-]*$/u.test(id) && id.length <= maxIdLength ? id : undefined;
}

const describeInvalidId = (kind: string): string =>
  `the ${kind} id in the path must have 1 to ${maxIdLength} letters, digits, dots, dashes, underscores and tildes, and must not begin with a dot`;

/** Returns the query. A repeated parameter is an array, which no parser here accepts as a string. */
const singleValuedQuery = (request: FastifyRequest): JsonObject => ({ ...(request.query as JsonObject) });

const send = (reply: FastifyReply, { status, body }: BrokerResponse): FastifyReply =>
  reply.code(status).send(body);

const headerValue = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header.join(', ') : header;

const etagMatches = (header: string | undefined, etag: string): boolean =>
  (header ?? '').split(',').some((text) => text.trim().replace(/^W\//u, '') === etag || text.trim() === '*');

function parseBody(body: Buffer): { readonly value: unknown } | { readonly problem: string } {
  if (body.length === 0) return { value: undefined };
  const value = tryParseJson(tryDecodeUtf8(body) ?? '');
  return value === undefined ? { problem: 'the body is not JSON in UTF-8' } : { value };
}

/**
 * Responds to requests that Node cannot parse, or that have too many headers. Node passes only the
 * connection.
 */
function handleClientError(error: Error & { code?: string }, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : 400;
  const { body } = errorResponse(status, 'InvalidRequest', 'the request is not valid HTTP');
  const text = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`,
  );
}

/** The metrics that /metrics returns in the Prometheus text format. */
interface BrokerMetrics {
  readonly contentType: string;
  text(): Promise<string>;
  /** Counts one request. `operation` is the method and the route, so that the label has few values. */
  count(operation: string, status: number, milliseconds: number): void;
}

/** Returns the metrics of one broker and of its process. */
export function brokerMetrics(): BrokerMetrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = new Counter({
    name: 'volume_broker_requests_total',
    help: 'Requests, by operation and status of the response',
    labelNames: ['operation', 'status'],
    registers: [registry],
  });
  const seconds = new Histogram({
    name: 'volume_broker_request_duration_seconds',
    help: 'Time from a request to its response, by operation',
    labelNames: ['operation'],
    registers: [registry],
  });
  return {
    contentType: registry.contentType,
    text: async () => registry.metrics(),
    count: (operation, status, milliseconds) => {
      requests.inc({ operation, status });
      seconds.observe({ operation }, milliseconds / 1000);
    },
  };
}
