import type { LogRequest } from '../../node/pod-console.ts';
import { invalidValue } from '../errors/field-causes.ts';
import { badRequest, invalid } from '../errors/status-errors.ts';
import type { Registry } from '../registry/registry.ts';
import { podTarget } from './pod-target.ts';
import { integerParameter } from './query.ts';
import type { RequestContext } from './request-context.ts';
import { writeChunkedWithBackpressure } from './response.ts';

const headerDelay = 50;

/**
 * Serves GET pods/log: plain text, streamed; with `follow` until the container ends or the client
 * disconnects. Throws ApiError.
 */
export async function serveLog(context: RequestContext): Promise<void> {
  context.assertMethod('GET');
  const { response } = context;
  const disconnected = new AbortController();
  response.on('close', () => disconnected.abort());
  const chunks = context.console.logs(logRequest(context, disconnected.signal))[Symbol.asyncIterator]();
  const first = chunks.next();
  // An error comes at once and must still be sent as a Status, but a follow of a silent container must not
  // wait for its first line.
  await Promise.race([first, new Promise((resolve) => setTimeout(resolve, headerDelay))]);
  response.writeHead(200, { 'content-type': 'text/plain', 'cache-control': 'no-cache, private' });
  response.flushHeaders();
  for (let next = await first; next.done !== true; next = await chunks.next()) {
    await writeChunkedWithBackpressure(response, next.value);
  }
  response.end();
}

function logRequest(context: RequestContext, signal: AbortSignal): LogRequest {
  const { registry, route, query } = context;
  const refused = ['insecureSkipTLSVerifyBackend', 'stream'].find(
    (name) => !['', 'All'].includes(query.get(name) ?? ''),
  );
  if (refused !== undefined)
    throw badRequest(`the embedded cluster does not implement the log option ${refused}`);
  return {
    ...podTarget(registry, route, query.get('container')),
    follow: context.hasFlag('follow'),
    previous: context.hasFlag('previous'),
    timestamps: context.hasFlag('timestamps'),
    tailLines: parseMinimum(query, 'tailLines', 0),
    limitBytes: parseMinimum(query, 'limitBytes', 1),
    sinceTime: sinceTime(registry, query),
    signal,
  };
}

function sinceTime(registry: Registry, query: URLSearchParams): Date | undefined {
  const seconds = parseMinimum(query, 'sinceSeconds', 1);
  const time = query.get('sinceTime');
  if (seconds !== undefined && time !== null) {
    throw badRequest('at most one of `sinceTime` or `sinceSeconds` may be specified');
  }
  if (seconds !== undefined) return new Date(registry.clock.now() - seconds * 1000);
  if (time === null || time === '') return undefined;
  const parsed = new Date(time);
  if (Number.isNaN(parsed.getTime()))
    throw badRequest(`sinceTime: ${JSON.stringify(time)} is not a valid RFC 3339 time`);
  return parsed;
}

function parseMinimum(query: URLSearchParams, name: string, minimum: number): number | undefined {
  const value = integerParameter(query, name);
  if (value !== undefined && value < minimum) {
    const detail = `must be greater than or equal to ${minimum}`;
    throw invalid('PodLogOptions', '', '', [invalidValue(name, value, detail)]);
  }
  return value;
}
