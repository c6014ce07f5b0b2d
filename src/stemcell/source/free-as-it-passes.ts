import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const step = 4 * 1024 * 1024;

/**
 * Passes the bytes on and has the runtime give back, every 4 MB, what has passed. By itself it waits until some 64 MB of
 * buffers nobody refers to have piled up, at several places of a pipeline at once. Ends with the signal's reason.
 */
export async function* freeAsItPasses(
  source: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const collect = collector();
  // what starting the program left behind
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

/** The runtime's own collection, which takes about a millisecond for what is young; v8 shows it to new contexts only. */
function collector(): (type: 'minor' | 'major') => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') throw new Error('the runtime has no garbage collection to call');
  return (type) => void collect({ type });
}
