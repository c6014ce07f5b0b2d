import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buildStaticIp } from '../../../scripts/build-static-ip.ts';
import { codeDigest } from '../../support/code-digest.ts';
import type { Layout } from '../layout.ts';
import { writeWhole } from '../machine/write-whole.ts';
import type { ClusterNode } from './cluster-node.ts';

/** Builds static-ip and brings it to the nodes that run, unless what is there was made of the same code. */
export async function renewStaticIp({ staticIp }: Layout, nodes: readonly ClusterNode[]): Promise<void> {
  const directory = dirname(staticIp);
  const stamp = join(directory, 'built-from');
  const wanted = `${await codeDigest('src/cni/main.ts')} ${await codeDigest('scripts/build-static-ip.ts')}\n`;
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted) return;
  await buildStaticIp(directory);
  for (const node of nodes) if (await node.machine.isUp()) await node.installPlugins();
  await writeWhole(stamp, wanted);
}
