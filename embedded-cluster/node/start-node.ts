import { EventRecorder } from '../../src/kubernetes/controllers/event-recorder.ts';
import { timestamp } from '../../src/kubernetes/timestamp.ts';
import { EventEmitter } from 'node:events';
import { mkdir, readFile, realpath, statfs } from 'node:fs/promises';
import type { Clock } from '../../src/platform/clock.ts';
import { machineLabel } from '../../src/kubernetes/types/node.ts';
import { nodes } from '../../src/kubernetes/resources.ts';
import { EmbeddedNode } from './embedded-node.ts';
import { findPreparedHost, prepareHost } from './host-root/prepare-host.ts';
import { nodeLayout, type NodeLayout } from './node-paths.ts';
import { mount } from './mounts.ts';
import { readMountTable } from '../../src/platform/mountinfo.ts';
import type { NodeApi } from './node-api.ts';
import { registerNode } from './node-object.ts';
import type { NodeArgument } from './parse-node.ts';
import { PodAddresses } from './pods/pod-addresses.ts';
import { ProcessRuntime } from './runtime/process-runtime.ts';
import { isMapped, parseIdMap } from './runtime/user-namespace.ts';
import { PersistentVolumes } from './volumes/persistent-volumes.ts';
import { PodVolumes } from './volumes/pod-volumes.ts';

export interface NodeOptions {
  readonly api: NodeApi;
  /** The cluster's directory; see layout.ts. */
  readonly directory: string;
  /** Pods see it as /opt/bosh-kubernetes: the Node.js binary and the agent. */
  readonly runtimeDirectory: string;
  readonly clock: Clock;
  /** Reported as kubeletVersion, without the `v`. */
  readonly version: string;
  /** More Node objects that are this machine, beside `embedded` and those of earlier starts. */
  readonly nodes?: readonly NodeArgument[];
  /**
   * The URL under which pods find the API: KUBERNETES_SERVICE_HOST and _PORT. Pods wait for it; if absent,
   * pods do not get these variables.
   */
  readonly apiServer?: Promise<URL>;
  /** Receives the errors that are not the failure of one pod. */
  readonly onError: (error: unknown) => void;
}

const groupOfTerminals = 5;
const machine = 'embedded';

/**
 * Starts the node, which runs the pods of `api` that are bound to it until `stop`. Must be called in mount
 * and pid namespaces that were made for this process alone (daemon/init.sh): it mounts, and it treats every
 * process that it sees as its own.
 */
export async function startNode(options: NodeOptions): Promise<EmbeddedNode> {
  const { api, clock, onError } = options;
  await mkdir(options.directory, { recursive: true });
  const layout = nodeLayout(await realpath(options.directory));
  await shareKubeletDirectory(layout);
  const persistentVolumes = new PersistentVolumes(layout, clock);
  await mkdir(layout.volumes, { recursive: true });
  // The rest is tried again at the next start.
  await persistentVolumes.emptyTrash().catch(onError);
  const ids = parseIdMap(await readFile('/proc/self/uid_map', 'utf8'));
  const directories =
    (await findPreparedHost(layout)) ?? (await prepareHost(layout, options.runtimeDirectory));
  const logChanges = new EventEmitter().setMaxListeners(0);
  const runtime = new ProcessRuntime(layout, {
    directories,
    setsGroups: (await readFile('/proc/self/setgroups', 'utf8')).trim() === 'allow',
    terminalGroup: isMapped(parseIdMap(await readFile('/proc/self/gid_map', 'utf8')), groupOfTerminals),
  });
  const facts = { version: options.version, ...(await machineFacts(layout.directory)) };
  for (const { name, zone = name } of [{ name: machine }, ...(options.nodes ?? [])] as NodeArgument[]) {
    await registerNode(api, { name, zone, machine, ...facts, now: timestamp(clock.now()) });
  }
  const nodeNames = await namesOf(api, machine);
  const node = new EmbeddedNode({
    services: {
      ...{ api, clock, layout, runtime, nodeNames, ids, logChanges, onError },
      ...(options.apiServer === undefined ? {} : { apiServer: options.apiServer }),
      volumes: new PodVolumes(api, layout),
      addresses: new PodAddresses(),
      events: new EventRecorder({ api, clock, component: 'kubelet', host: machine, onError }),
    },
    persistentVolumes,
    logChanges,
  });
  await node.start();
  return node;
}

/**
 * Returns the names of all Node objects of the machine, also of those from an earlier start: their pods are
 * here.
 */
async function namesOf(api: NodeApi, name: string): Promise<string[]> {
  const { items } = await api.list(nodes, { labelSelector: `${machineLabel}=${name}` });
  return items.map(({ metadata }) => metadata.name);
}

/** Shares mounts below the kubelet directory, and only those, with containers that request it. */
async function shareKubeletDirectory(layout: NodeLayout): Promise<void> {
  await mkdir(layout.kubelet, { recursive: true });
  if ((await readMountTable()).some((entry) => entry.target === layout.kubelet)) {
    return;
  }
  await mount('--bind', layout.kubelet, layout.kubelet);
  await mount('--make-private', layout.kubelet);
  await mount('--make-shared', layout.kubelet);
}

async function machineFacts(
  directory: string,
): Promise<{ storage: number; machineId: string; bootId: string; osImage: string }> {
  const { blocks, bsize } = await statfs(directory);
  const osRelease = await readIfThere('/etc/os-release');
  return {
    storage: blocks * bsize,
    machineId: (await readIfThere('/etc/machine-id')).trim(),
    bootId: (await readIfThere('/proc/sys/kernel/random/boot_id')).trim(),
    osImage: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(osRelease)?.[1] ?? 'Linux',
  };
}

async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return '';
    }
    throw error;
  }
}
