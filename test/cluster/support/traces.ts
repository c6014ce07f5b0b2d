import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { volumeAttachments } from '../../../src/cpi/disk/attach/volume-attachments.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { persistentVolumes } from '../../../src/kubernetes/resources.ts';
import { runWell } from '../../support/run.ts';
import type { ClusterNode } from '../node/cluster-node.ts';
import { kubeletDirectory } from '../node/configuration.ts';
import type { RealCluster } from '../real-cluster.ts';

/** The traces of pods and volumes on a node and in the cluster, by kind. */
export type Traces = ReadonlyMap<string, readonly string[]>;

/** Printed on its own line before the results of each kind. */
const mark = '== kind';

/**
 * Returns traces other than objects of a namespace. All loop devices of the machine are listed, but only ours
 * are counted.
 */
export async function tracesOf(cluster: RealCluster, node: ClusterNode, api: KubernetesApi): Promise<Traces> {
  const { layout } = cluster;
  const traces = new Map<string, readonly string[]>();
  const checks = Object.entries(scripts(node));
  // Only one process enters the node, because a test repeats this often.
  const all = checks
    .map(([, script], index) => `echo '${mark} ${index}'\n{ ${script}; } || exit 1`)
    .join('\n');
  const messages = (await node.machine.runWell(['sh', '-c', all])).split(new RegExp(`^${mark} \\d+$`, 'mu'));
  for (const [index, [kind]] of checks.entries()) traces.set(kind, linesOf(messages[index + 1] ?? ''));
  const devices = linesOf(await runWell(['losetup', '--list', '--noheadings', '--output', 'BACK-FILE']));
  traces.set(
    'loop devices',
    devices.filter((file) => file.startsWith(layout.directory)),
  );
  const given = await namesIn(join(layout.podAddresses, 'pods'));
  traces.set(
    'addresses that host-local keeps',
    given.filter((name) => /^[\d.]+$/u.test(name)),
  );
  for (const resource of [persistentVolumes, volumeAttachments]) {
    const { items } = await api.list(resource);
    traces.set(
      resource.plural,
      items.flatMap(({ metadata }) => metadata.name ?? []),
    );
  }
  return traces;
}

/** Returns as `kind: thing` what is in `now` and not in `then`. */
export function addedSince(then: Traces, now: Traces): string[] {
  return [...now].flatMap(([kind, things]) =>
    things.filter((thing) => then.get(kind)?.includes(thing) !== true).map((thing) => `${kind}: ${thing}`),
  );
}

/** Prints nothing on a node without the directory, because no pod has run there yet. */
const ignoreNotFound = (path: string, program: string, options = ''): string =>
  `if [ -e ${path} ]; then ${program} ${path} ${options}; fi`;

/** The kubelet creates these control groups with the first pod of a class, and keeps them. */
const noneOfThePods = ['kubepods', 'burstable', 'besteffort'].map((name) => `! -name ${name}`).join(' ');

/**
 * A driver's directory below plugins and the layers of an image are not listed, because they stay for the
 * next pod.
 */
const scripts = ({ cgroup }: ClusterNode): Readonly<Record<string, string>> => ({
  'pod directories': ignoreNotFound(`${kubeletDirectory}/pods`, 'ls'),
  'pod logs': ignoreNotFound('/var/log/pods', 'ls'),
  mounts: `awk '{ print $5 }' /proc/self/mountinfo`,
  'staged volumes': ignoreNotFound(
    `${kubeletDirectory}/plugins/kubernetes.io/csi`,
    'find',
    '-xdev -mindepth 2 -maxdepth 3',
  ),
  // Some control groups are removed while find(1) runs.
  'control groups': `find /sys/fs/cgroup -type d -path '*/${cgroup}/*' ${noneOfThePods} 2>/dev/null || true`,
  'containers and sandboxes': 'ctr --namespace k8s.io containers list --quiet',
  tasks: 'ctr --namespace k8s.io tasks list --quiet',
  snapshots: `ctr --namespace k8s.io snapshots list | awk 'NR > 1 && $1 !~ /^sha256:/ { print $1 }'`,
  'network namespaces': ignoreNotFound('/run/netns', 'ls'),
  'network interfaces': `ip -oneline link | awk -F ': ' '{ print $2 }'`,
});

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

async function namesIn(directory: string): Promise<string[]> {
  return existsSync(directory) ? readdir(directory) : [];
}
