import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { buildStaticIp } from '../../../scripts/build-static-ip.ts';
import { codeDigest } from '../../support/code-digest.ts';
import type { ClusterPaths } from '../cluster-paths.ts';
import { writeWhole } from '../machine/write-whole.ts';
import { cacheDirectory, cachedDirectory } from '../programs/directory-cache.ts';
import type { ClusterNode } from './cluster-node.ts';

async function buildWhole(directory: string): Promise<void> {
  const draft = `${directory}.draft`;
  await rm(draft, { recursive: true, force: true });
  await buildStaticIp(draft);
  await rename(draft, directory);
}

/**
 * Installs static-ip on the running nodes unless they have a build of the same code. It is built once for all
 * clusters.
 */
export async function renewStaticIp(
  { staticIp }: ClusterPaths,
  nodes: readonly ClusterNode[],
): Promise<void> {
  const directory = dirname(staticIp);
  const stamp = join(directory, 'built-from');
  const code = [await codeDigest('src/cni/main.ts'), await codeDigest('scripts/build-static-ip.ts')].join(
    ' ',
  );
  const expected = `${code}\n`;
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === expected) return;
  const key = createHash('sha256').update(expected).digest('hex').slice(0, 12);
  const cache = cacheDirectory('static-ip');
  const built = await cachedDirectory('static-ip', key, buildWhole, { cache });
  await mkdir(directory, { recursive: true });
  const executable = join(built, basename(staticIp));
  if (existsSync(executable)) await copyFile(executable, staticIp);
  for (const node of nodes) if (await node.machine.isUp()) await node.installPlugins();
  await writeWhole(stamp, expected);
}
