import type { ServerResponse } from 'node:http';
import type { WatchEvent } from '../../../src/kubernetes/api.ts';
import { EventQueue } from '../registry/event-queue.ts';
import type { Registry } from '../registry/registry.ts';
import { bookmark, watchObjects, type WatchObjectsQuery } from '../registry/watch.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { formatEvent, type ResponseFormat } from './response-format.ts';
import { writeChunkedWithBackpressure } from './response.ts';

interface WatchStreamQuery extends WatchObjectsQuery {
  readonly allowBookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
}

const bookmarkInterval = 60_000;
const minDefaultTimeout = 1800;
const maxTimeout = 86_400;
/**
 * A client that does not read is disconnected at this limit, so that it does not exhaust the server's memory.
 * It can continue from its last version.
 */
const maxBufferedEvents = 20_000;
/** The same limit in bytes written since the oldest event that the client has not read. */
const maxBufferedBytes = 64 * 1024 * 1024;

/**
 * Streams events as lines of JSON until the client disconnects, `timeoutSeconds` expire (30 to 60 minutes by
 * default) or an ERROR event was sent. Throws ApiError before the first byte if the query is not valid.
 */
export async function streamWatch(
  registry: Registry,
  format: ResponseFormat,
  query: WatchStreamQuery,
  response: ServerResponse,
): Promise<void> {
  const { store } = registry;
  const queue = new EventQueue<{ readonly event: WatchEvent<StoredObject>; readonly bytesWritten: number }>();
  const push = (event: WatchEvent<StoredObject>): void =>
    queue.push({ event, bytesWritten: store.bytesWritten });
  // A slow or failed client must not delay or fail a writer, so writers only add to its queue.
  const stopWatch = watchObjects(registry, format.kind, query, push);
  const stopBound = store.subscribe(() => {
    const bytesBehind = store.bytesWritten - (queue.oldest?.bytesWritten ?? store.bytesWritten);
    if (queue.length > maxBufferedEvents || bytesBehind > maxBufferedBytes) response.destroy();
  });
  const mark = (): void => {
    if (query.allowBookmarks) push(bookmark(registry, format.kind));
  };
  const seconds = query.timeoutSeconds ?? minDefaultTimeout + registry.random.below(minDefaultTimeout);
  const bookmarks = setInterval(mark, bookmarkInterval);
  const timeout = setTimeout(
    () => {
      mark();
      queue.close();
    },
    Math.min(seconds, maxTimeout) * 1000,
  );
  response.on('close', () => queue.abort());
  try {
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    response.flushHeaders();
    for await (const { event } of queue) {
      await writeChunkedWithBackpressure(response, `${JSON.stringify(formatEvent(format, event))}\n`);
      if (event.type === 'ERROR') break;
    }
    response.end();
  } finally {
    stopWatch();
    stopBound();
    clearInterval(bookmarks);
    clearTimeout(timeout);
  }
}
