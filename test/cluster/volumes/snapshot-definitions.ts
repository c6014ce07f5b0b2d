import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { go, makeGoModule } from '../programs/build-programs.ts';
import { withFileLock } from '../programs/directory-cache.ts';
import { snapshotClient } from '../programs/programs.ts';

/**
 * Copies upstream's CustomResourceDefinitions of snapshots from their module into the cache of programs.
 * Returns the directory. Several clusters may call this at the same time.
 */
export async function fetchSnapshotDefinitions(cache: string): Promise<string> {
  const target = join(cache, 'snapshot-definitions');
  if (existsSync(target)) return target;
  await withFileLock(join(cache, 'lock'), async () => {
    if (!existsSync(target)) await copyDefinitions(cache, target);
  });
  return target;
}

/** Copies them so that they appear atomically. */
async function copyDefinitions(cache: string, target: string): Promise<void> {
  const module = await makeGoModule(cache);
  const from = (await go(module, ['list', '-m', '-f', '{{.Dir}}', snapshotClient])).trim();
  const draft = await mkdtemp(`${target}.`);
  try {
    const definitions = join(from, 'config', 'crd');
    for (const name of await readdir(definitions)) {
      if (!name.startsWith('snapshot.storage.k8s.io_')) continue;
      await writeFile(join(draft, name), await readFile(join(definitions, name)));
    }
    await rename(draft, target);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

export async function readSnapshotDefinitions(directory: string): Promise<KubernetesObject[]> {
  const names = (await readdir(directory)).toSorted();
  return Promise.all(
    names.map(async (name) => parse(await readFile(join(directory, name), 'utf8')) as KubernetesObject),
  );
}
