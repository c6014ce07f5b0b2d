import type { ServerResponse } from 'node:http';
import type { WatchEvent } from '../../../kubernetes/api.ts';
import type { Registry } from '../registry/registry.ts';
import { bookmark, watchObjects } from '../registry/watch.ts';
import type { WatchObjectsQuery } from '../registry/watch.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { representEvent } from './represent.ts';
import type { View } from './represent.ts';

export interface WatchStreamQuery extends WatchObjectsQuery {
  readonly allowBookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
}

const bookmarkInterval = 60_000;
const shortestDefault = 1800;
/** A client that does not read is cut off before it takes the server's memory. */
const maximumBacklog = 16 * 1024 * 1024;

/**
 * Streams events as lines of JSON until the client goes, `timeoutSeconds` end (30 to 60 minutes by default) or an
 * ERROR event was sent. Throws ApiError before the first byte for a query that cannot be met.
 */
export function streamWatch(
  registry: Registry,
  view: View,
  query: WatchStreamQuery,
  response: ServerResponse,
): void {
  const pending: WatchEvent<StoredObject>[] = [];
  let started = false;
  const send = (event: WatchEvent<StoredObject>): void => {
    if (!started) {
      pending.push(event);
      return;
    }
    if (response.writableEnded || response.destroyed) return;
    response.write(`${JSON.stringify(representEvent(view, event))}\n`);
    if (event.type === 'ERROR') response.end();
    if (response.writableLength > maximumBacklog) response.destroy();
  };
  const stop = watchObjects(registry, view.kind, query, send);
  response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
  response.flushHeaders();
  started = true;
  pending.forEach(send);

  const mark = (): void => {
    if (query.allowBookmarks) send(bookmark(registry, view.kind));
  };
  const bookmarks = setInterval(mark, bookmarkInterval);
  const seconds = query.timeoutSeconds ?? shortestDefault + registry.random.below(shortestDefault);
  const end = setTimeout(
    () => {
      mark();
      response.end();
    },
    Math.min(seconds, 86_400) * 1000,
  );
  response.on('close', () => {
    stop();
    clearInterval(bookmarks);
    clearTimeout(end);
  });
}
