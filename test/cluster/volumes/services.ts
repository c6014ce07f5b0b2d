import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drivers, sidecarsOf, sidecarTimings } from '../csi/drivers.ts';
import type { ClusterPaths } from '../cluster-paths.ts';
import { type Service, withGoSettings } from '../machine/machine.ts';
import type { NodePlan } from '../network.ts';
import { kubeletDirectory } from '../node/configuration.ts';

const main = fileURLToPath(new URL('../csi/main.ts', import.meta.url));

/** Returns the directories of volumes and of the drivers' sockets, which all machines see. */
export function volumePaths({ directory }: ClusterPaths): {
  readonly volumes: string;
  readonly sockets: string;
} {
  return { volumes: join(directory, 'volumes'), sockets: join(directory, 'csi') };
}

function statePaths(layout: ClusterPaths): string[] {
  const { volumes, sockets } = volumePaths(layout);
  return ['--directory', volumes, '--sockets', sockets];
}

/** The driver on a node, which registers itself with the kubelet. */
export function nodeDriverService(layout: ClusterPaths, { name, zone }: NodePlan): Service {
  const who = ['--node-id', name, '--zone', zone, '--kubelet-root', kubeletDirectory];
  const command = [process.execPath, main, 'node', ...who, ...statePaths(layout)];
  return { name: 'csi-node', command, graceMs: 5000 };
}

/** The drivers' controller, which searches all processes of the host for mounts of a device. */
export function controllerDriverService(layout: ClusterPaths): Service {
  const command = [process.execPath, main, 'controller', ...statePaths(layout)];
  return { name: 'csi-controller', command, graceMs: 5000, onHost: true };
}

/** Upstream's sidecars of each driver, and the snapshot controller. */
export function sidecarServices(programs: string, layout: ClusterPaths): Service[] {
  const kubeconfig = `--kubeconfig=${layout.kubeconfig}`;
  const { sockets } = volumePaths(layout);
  const ofDrivers = drivers.flatMap((driver) =>
    sidecarsOf(driver, sockets).map(({ program, args }): Service => ({
      name: `${program}-${driver.socketName}`,
      command: withGoSettings([join(programs, program), kubeconfig, ...args]),
      graceMs: 5000,
    })),
  );
  const command = [
    join(programs, 'snapshot-controller'),
    kubeconfig,
    '--leader-election=false',
    ...sidecarTimings,
  ];
  return [...ofDrivers, { name: 'snapshot-controller', command: withGoSettings(command), graceMs: 5000 }];
}
