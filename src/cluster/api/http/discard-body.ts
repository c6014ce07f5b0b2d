import type { IncomingMessage } from 'node:http';

const maximumDiscarded = 3 * 1024 * 1024;

/**
 * Throws away what is still to come of a body that will not be read, so that its client, which may be in the midst of it, hears
 * the answer. Resolves at its end, when the client has gone, or after as much as any body may have.
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
