import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AgentClient } from '../../bosh/agent-client/agent-client.ts';
import { archiveLimits, ByteBudget } from '../../bosh/archive/archive-limits.ts';
import { unpackArchive } from '../../bosh/archive/unpack-archive.ts';
import { isProductError } from '../../errors/product-error.ts';
import { dropFirstWord } from '../../errors/text.ts';
import { removeTree } from '../../platform/remove-tree.ts';

const maxLines = 10;
const maxCharacters = 2000;
/** Bytes of all logs together. They are in memory. */
const maxBytes = 64 * 1024 * 1024;

/**
 * Returns the last lines of log files, by their paths relative to /var/vcap/sys/log, which the agent packs.
 * Leaves out empty and missing files. Returns undefined if the agent or its archive cannot be read: the
 * caller reports another error, and this is only an addition to it.
 */
export async function readLogEnds(
  agent: Pick<AgentClient, 'fetchLogs' | 'getBlob'>,
  paths: readonly string[],
): Promise<ReadonlyMap<string, string> | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-logs-'));
  try {
    const archive = join(directory, 'logs.tgz');
    await agent.getBlob(await agent.fetchLogs(['job'], paths), archive);
    const unpacked = join(directory, 'unpacked');
    const budget = new ByteBudget({ ...archiveLimits, total: maxBytes });
    await unpackArchive(archive, unpacked, { only: (name) => paths.includes(name), budget });
    const ends = new Map<string, string>();
    for (const path of paths) {
      const end = lastLines(await readIfPresent(join(unpacked, path)));
      if (end !== '') ends.set(path, end);
    }
    return ends;
  } catch (error) {
    if (!isProductError(error)) throw error;
    return undefined;
  } finally {
    await removeTree(directory, { within: tmpdir() });
  }
}

function lastLines(text: string): string {
  const lines = text.trimEnd().split('\n').slice(-maxLines).join('\n');
  return lines.length <= maxCharacters ? lines : dropFirstWord(lines.slice(-maxCharacters));
}

async function readIfPresent(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}
