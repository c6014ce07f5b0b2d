import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { DriverLog } from '../log.ts';
import type { VolumeDriver } from '../volume-driver.ts';
import type { DriverMetrics } from '../metrics.ts';
import { parseJsonObject, tryDecodeUtf8 } from '../../../platform/json.ts';

type Body = Readonly<Record<string, unknown>>;
/** `clientClosed` is aborted if the client disconnects before it has the response. */
type Handler = (driver: VolumeDriver, body: Body, clientClosed: AbortSignal) => unknown;

const handlers: Readonly<Record<string, Handler>> = {
  '/Plugin.Activate': () => ({ Err: '', Implements: ['VolumeDriver'] }),
  '/VolumeDriver.Create': (driver, body) => driver.create(body),
  '/VolumeDriver.Get': (driver, body) => driver.get(body),
  '/VolumeDriver.List': (driver) => driver.list(),
  '/VolumeDriver.Mount': (driver, body, clientClosed) => driver.mount(body, clientClosed),
  '/VolumeDriver.Path': (driver, body) => driver.path(body),
  '/VolumeDriver.Unmount': (driver, body) => driver.unmount(body),
  '/VolumeDriver.Remove': (driver, body) => driver.remove(body),
  '/VolumeDriver.Capabilities': () => ({ Capabilities: { Scope: 'local' } }),
};

const dockerContentType = /^application\/vnd\.docker\.plugins\.v1(?:\.\d+)?\+json$/iu;

/**
 * Returns a handler of the Docker plugin protocol, as volman and Docker use it. The status is always 200;
 * `Err` contains the error.
 */
export function pluginRequestHandler(driver: VolumeDriver, log: DriverLog): RequestListener {
  return (request, response) => {
    void respond(driver, request, response).catch((error: unknown) => {
      log.error('request', error, { url: request.url?.slice(0, 100) });
      if (response.headersSent) response.destroy();
      else send(request, response, { Err: 'internal error of the driver; see its log' });
    });
  };
}

async function respond(
  driver: VolumeDriver,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [path = ''] = (request.url ?? '').split('?');
  const verb = Object.hasOwn(handlers, path) ? handlers[path] : undefined;
  if (verb === undefined) return sendText(response, 404, '404 page not found');
  if (request.method !== 'POST') return sendText(response, 405, 'Method Not Allowed');
  const read = await readBody(request);
  if ('problem' in read) return send(request, response, { Err: read.problem });
  const clientClosed = new AbortController();
  response.once('close', () => clientClosed.abort());
  send(request, response, await verb(driver, read.body, clientClosed.signal));
}

function send(request: IncomingMessage, response: ServerResponse, body: unknown): void {
  const text = JSON.stringify(body);
  const accepted = (request.headers.accept ?? '').split(',').map((type) => type.trim());
  response.writeHead(200, {
    'content-type': accepted.find((type) => dockerContentType.test(type)) ?? 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${text}\n`);
}

interface AdminPorts {
  /** Unmounts all volumes and makes the process stop soon. Returns an error text, or '' on success. */
  readonly evacuate: () => Promise<string>;
  readonly metrics: DriverMetrics;
  readonly log: DriverLog;
}

/** Returns the handler of the old drivers' admin API, which drain scripts call with curl, and of /metrics. */
export function adminRequestHandler({ evacuate, metrics, log }: AdminPorts): RequestListener {
  const answers: Readonly<Record<string, () => Promise<{ status: number; type: string; text: string }>>> = {
    '/ping': async () => asJson(''),
    '/evacuate': async () => asJson(await evacuate()),
    '/metrics': async () => ({ status: 200, type: metrics.contentType, text: await metrics.text() }),
  };
  return (request, response) => {
    const path = request.url ?? '';
    const answer = request.method === 'GET' && Object.hasOwn(answers, path) ? answers[path] : undefined;
    const sent =
      answer?.() ?? Promise.resolve({ status: 404, type: 'text/plain', text: '404 page not found\n' });
    sent.then(
      ({ status, type, text }) => response.writeHead(status, { 'content-type': type }).end(text),
      (error: unknown) => {
        log.error('admin', error, { path });
        const { status, type, text } = asJson('internal error of the driver; see its log');
        response.writeHead(status, { 'content-type': type }).end(text);
      },
    );
  };
}

const asJson = (Err: string): { status: number; type: string; text: string } => ({
  status: Err === '' ? 200 : 500,
  type: 'application/json',
  text: JSON.stringify({ Err }),
});

/** Maximum bytes of a request body. The options of a share take some hundred. */
const maxBytes = 256 * 1024;

/** Returns the JSON object in the body of a request. Returns an empty object if there is no body. */
async function readBody(
  request: IncomingMessage,
): Promise<{ readonly body: Readonly<Record<string, unknown>> } | { readonly problem: string }> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
  }
  if (size > maxBytes) return { problem: `the body has more than ${maxBytes} bytes` };
  if (size === 0) return { body: {} };
  const body = parseJsonObject(tryDecodeUtf8(Buffer.concat(chunks)) ?? '');
  return body === undefined ? { problem: 'the body must be a JSON object in UTF-8' } : { body };
}
