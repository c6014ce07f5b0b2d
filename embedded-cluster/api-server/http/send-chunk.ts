import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** Writes, and resolves when there is room for more or the client has disconnected. */
export async function writeChunkedWithBackpressure(
  response: ServerResponse,
  chunk: string | Uint8Array,
): Promise<void> {
  if (response.destroyed || response.write(chunk)) return;
  const settled = new AbortController();
  const { signal } = settled;
  await Promise.race([once(response, 'drain', { signal }), once(response, 'close', { signal })]);
  settled.abort();
}
