import type { Readable } from 'node:stream';

/** All lines that the runtime's scripts write are shorter than this. */
const longest = 100;

/**
 * Reads the lines of a status pipe. Root of a pod may write to it, too (/proc/PID/fd/4 of container-exec.sh).
 * So a line that is longer than those of the runtime's scripts is skipped, and no more than this length of it
 * is ever kept in memory. The stream stays open at the end of an iteration.
 */
export async function* shortLines(stream: Readable): AsyncGenerator<string> {
  let line = '';
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    const [head = '', ...others] = (chunk as Buffer).toString('latin1').split('\n');
    line = cut(line + head);
    for (const next of others) {
      if (line.length <= longest) yield line;
      line = cut(next);
    }
  }
  if (line !== '' && line.length <= longest) yield line;
}

const cut = (line: string): string => line.slice(0, longest + 1);
