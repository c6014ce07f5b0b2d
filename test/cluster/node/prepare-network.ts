import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { writeWhole } from '../machine/write-whole.ts';
import type { NodePlan } from '../network.ts';
import { conflistName, podNetwork } from './pod-network.ts';

/** The directory of Debian's containernetworking-plugins. */
export const pluginDirectory = '/usr/lib/cni';

/**
 * Fills a node's `bin` and `net.d` with Debian's plugins and, if that file exists, `staticIp` before the
 * bridge.
 */
export async function prepareNetwork(directory: string, plan: NodePlan, staticIp: string): Promise<void> {
  const bin = join(directory, 'bin');
  await mkdir(bin, { recursive: true });
  const plugins = (await readdir(pluginDirectory)).map((name) => join(pluginDirectory, name));
  const hasStaticIp = existsSync(staticIp);
  for (const plugin of hasStaticIp ? [...plugins, staticIp] : plugins) {
    const target = join(bin, basename(plugin));
    await copyFile(plugin, `${target}.new`);
    await rename(`${target}.new`, target);
  }
  const conflist = join(directory, 'net.d', conflistName);
  await mkdir(dirname(conflist), { recursive: true });
  await writeWhole(conflist, podNetwork(plan, hasStaticIp));
}
