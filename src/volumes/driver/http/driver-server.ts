import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { DriverLog } from '../driver-log.ts';
import type { VolumeDriver } from '../volumes/volume-driver.ts';
import { readBody } from './read-body.ts';

type Body = Readonly<Record<string, unknown>>;
/** `clientClosed` is aborted if the client disconnects before it has the response. */
type Handler = (driver: VolumeDriver, body: Body, clientClosed: AbortSignal) => unknown;

const handlers: Readonly<Record<string, Handler>> = {
  '/Plugin.Activate': () => ({ Err: '', Implements: ['VolumeDriver'] }),
  '/VolumeDriver.Create': (driver, body) => driver.create(body),
  '/VolumeDriver.Get': (driver, body) => driver.get(body),
  '/VolumeDriver.List': (driver) => driver.list(),
  '/VolumeDriver.Mount': (driver, body, gone) => driver.mount(body, gone),
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
      else send(request, response, { Err: 'a fault in the driver; its log says more' });
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
  if ('fault' in read) return send(request, response, { Err: read.fault });
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  send(request, response, await verb(driver, read.body, gone.signal));
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
