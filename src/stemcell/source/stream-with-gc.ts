import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const step = 4 * 1024 * 1024;

/**
 * Passes the bytes on and runs the garbage collection every 4 MB. By itself the runtime waits until about 64
 * MB of unused buffers have accumulated, at several places of a pipeline at once. Ends with the signal's
 * reason.
 */
export async function* collectGarbageWhileStreaming(
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const collect = collector();
  // Collects what the start of the program left behind.
  collect('major');
  let passed = 0;
  for await (const chunk of source) {
    signal.throwIfAborted();
    passed += chunk.length;
    if (passed >= step) {
      collect('minor');
      passed = 0;
    }
    yield chunk;
  }
}

/**
 * Returns the runtime's garbage collection, which takes about a millisecond for young objects. v8 exposes it
 * only to new contexts.
 */
function collector(): (type: 'minor' | 'major') => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('the runtime has no garbage collection to call');
  return (type) => void collect({ type });
}
