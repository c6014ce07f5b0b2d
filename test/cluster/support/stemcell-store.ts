import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { makeImageStore } from '../image/image-store.ts';
import { runWell } from '../machine/run.ts';
import { loadStemcellInto } from './load-stemcell.ts';
import { cachedFolder } from '../programs/folder-cache.ts';

/**
 * Returns the directory that the containerd of a new node starts with. It contains these stemcells, unpacked
 * once for all nodes of all clusters.
 */
export async function stemcellStore(directories: readonly string[]): Promise<string> {
  const containerd = await runWell(['containerd', '--version']);
  const names = directories.map((directory) => basename(directory));
  const key = createHash('sha256')
    .update([containerd, ...names].join('\n'))
    .digest('hex')
    .slice(0, 12);
  const make = (made: string): Promise<void> =>
    makeImageStore(made, async (machine) => {
      for (const directory of directories) await loadStemcellInto(machine, directory);
    });
  // It is larger than the stemcells together, and nodes that have it do not need it any more.
  return cachedFolder('image-store', key, make, { keptMs: 60 * 60 * 1000 });
}
