import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { busybox } from './image/images.ts';
import { pluginDirectory, plugins } from './node/pod-network.ts';
import { missingGo } from './programs/go-requirement.ts';

interface Requirement {
  readonly what: string;
  /** The Debian package. */
  readonly package?: string;
  readonly met: boolean;
}

/**
 * Returns one sentence about what this machine lacks for a cluster of plain processes and how to install it,
 * or undefined if nothing is missing.
 */
export function missingForCluster(
  environment: NodeJS.ProcessEnv = process.env,
  pluginsAt = pluginDirectory,
): string | undefined {
  const program = (name: string, debian: string): Requirement => ({
    what: name,
    package: debian,
    met: (environment['PATH'] ?? '').split(delimiter).some((path) => existsSync(join(path, name))),
  });
  const go = missingGo(environment);
  const missing = [
    { what: 'root', met: process.getuid?.() === 0 },
    { what: go ?? 'Go', met: go === undefined },
    program('containerd', 'containerd'),
    program('runc', 'runc'),
    program('iptables', 'iptables'),
    program('conntrack', 'conntrack'),
    program('ip', 'iproute2'),
    program('losetup', 'mount'),
    program('resize2fs', 'e2fsprogs'),
    program('mmdebstrap', 'mmdebstrap'),
    { what: 'static busybox', package: 'busybox-static', met: existsSync(busybox) },
    {
      what: `CNI plugins ${plugins.join(' and ')} in ${pluginsAt}`,
      package: 'containernetworking-plugins',
      met: plugins.every((name) => existsSync(join(pluginsAt, name))),
    },
  ].filter(({ met }: Requirement) => !met);
  if (missing.length === 0) return undefined;
  const packages = missing.flatMap(({ package: debian }: Requirement) => debian ?? []);
  const command = packages.length === 0 ? '' : `; apt-get install ${packages.join(' ')}`;
  return `a cluster of plain processes needs ${missing.map(({ what }) => what).join(', ')}${command}`;
}

/** Throws the sentence of missingForCluster. */
export function assertClusterPossible(): void {
  const missing = missingForCluster();
  if (missing !== undefined) throw new Error(missing);
}
