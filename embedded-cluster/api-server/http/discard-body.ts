import type { IncomingMessage } from 'node:http';

const maximumDiscarded = 3 * 1024 * 1024;

/**
 * Discards the rest of a body that is not processed, so that a client that is still sending receives the
 * response. Resolves at the end of the body, when the client disconnects, or after the maximum size of a
 * body.
 */
export function drainRequest(request: IncomingMessage): Promise<void> {
  if (request.complete || request.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let discarded = 0;
    request.on('end', resolve).on('close', resolve);
    request.on('data', ({ length }: Buffer) => {
      discarded += length;
      if (discarded > maximumDiscarded) resolve();
    });
    request.resume();
  });
}
