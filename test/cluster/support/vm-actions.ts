import assert from 'node:assert/strict';
import type { ClusterWorld } from './cluster-world.ts';
import { until } from '../../support/until.ts';
import type { Access } from '../../../src/kubernetes/access/access.ts';
import { openTransport } from '../../../src/kubernetes/client/open-transport.ts';
import { label } from '../../../src/cpi/objects/labels.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import { run } from '../../support/run.ts';

/** A kubelet that could not remove a volume tries again later, at last after two minutes. */
const volumeDeadlineMs = 600_000;

/**
 * Runs `kubectl drain` for a VM's node and then makes the node schedulable again. Returns kubectl's output.
 */
export async function drain(world: ClusterWorld, vm: string): Promise<string> {
  const node = await world.nodeNameOf(vm);
  try {
    return await world.kubectl('drain', node, '--force', '--delete-emptydir-data', '--ignore-daemonsets');
  } finally {
    await world.kubectl('uncordon', node);
  }
}

/**
 * Runs `kubectl delete --force`: the API server deletes the pod before its processes have exited. Resolves
 * when no disk is in its hub any more.
 */
export async function deleteByForce(world: ClusterWorld, vm: string): Promise<void> {
  const isFree = await hubWatcher(world, vm);
  await world.kubectl('delete', 'pod', vm, '--force', '--grace-period=0');
  await until('the hub to be free', isFree, volumeDeadlineMs);
}

/**
 * Deletes an attachment pod with `kubectl delete --force`. Resolves when the kubelet has unmounted as much of
 * its volume as it does.
 */
export async function deleteAttachmentByForce(world: ClusterWorld, pod: string): Promise<void> {
  const node = await world.nodeOf(pod);
  const { uid = '' } = (await world.pod(pod)).metadata;
  await world.kubectl('delete', 'pod', pod, '--force', '--grace-period=0');
  const folder = `${world.cluster.kubeletRootDirectory}/pods/${uid}`;
  const isRemoved = async (): Promise<boolean> => (await node.run(['test', '-e', folder])).exitCode === 1;
  await until('its folder to go', isRemoved, volumeDeadlineMs);
}

/**
 * Returns a function that resolves with true if no disk is in the hub of an existing VM. The VM may be
 * deleted before that function is called.
 */
export async function hubWatcher(world: ClusterWorld, vm: string): Promise<() => Promise<boolean>> {
  const node = await world.nodeOf(vm);
  const { uid = '' } = (await world.pod(vm)).metadata;
  const mounts = ['grep', '-E', `pods/${uid}/.*/disks/`, '/proc/1/mountinfo'];
  return async () => (await node.run(mounts)).exitCode === 1;
}

/** Sends SIGKILL from the node to PID 1 of the VM's container, as the kernel does when memory runs out. */
export async function killVmContainer(world: ClusterWorld, cid: string): Promise<void> {
  const [status] = (await world.pod(cid)).status?.containerStatuses ?? [];
  const id = status?.containerID?.replace('containerd://', '') ?? '';
  assert.match(id, /^[0-9a-f]{64}$/u);
  const node = await world.nodeOf(cid);
  const killed = await node.run([
    'sh',
    '-c',
    'for p in /proc/[0-9]*; do grep -qs "$0" $p/cgroup && grep -qs "^NSpid:.*[[:space:]]1$" $p/status && kill -9 ${p#/proc/}; done; true',
    id,
  ]);
  assert.equal(killed.exitCode, 0, killed.stderr);
}

/** Sends one POST to the pod's eviction subresource, as `kubectl drain` and the descheduler do. */
export async function evict(
  { cluster, namespace }: { readonly cluster: { readonly access: Access }; readonly namespace: string },
  pod: string,
): Promise<void> {
  const transport = await openTransport(cluster.access);
  try {
    const { status, body } = await transport.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`,
      body: JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace } }),
    });
    assert.ok(status < 300, `${status}: ${body}`);
  } finally {
    transport.close();
  }
}

/** Calls delete_vm for each VM of the suite's namespace. */
export async function deleteVms({ api, namespace, cloud }: ClusterWorld): Promise<void> {
  const { items } = await api.list<Pod>(pods, { namespace, labelSelector: `${label.kind}=vm` });
  await Promise.all(items.map(({ metadata }) => deleteVm(cloud, { vmCid: metadata.name })));
}

/**
 * Ends a VM's pod (`remove`) whose hub is a directory of its node, and waits until the kubelet has removed
 * the content of the hub.
 */
export async function deletesHubContent(
  world: ClusterWorld,
  vm: string,
  remove: (vm: string) => Promise<unknown>,
): Promise<void> {
  const node = await world.nodeOf(vm);
  const { uid = '' } = (await world.pod(vm)).metadata;
  const hub = `${world.cluster.kubeletRootDirectory}/pods/${uid}/volumes/kubernetes.io~empty-dir/hub`;
  await remove(vm);
  const canaries = ['sh', '-c', 'ls "$0"/disks/*/store/canary', hub];
  const isEmpty = async (): Promise<boolean> => (await node.run(canaries)).exitCode !== 0;
  await until('the kubelet to empty the hub', isEmpty, volumeDeadlineMs);
}

/**
 * Deletes a VM whose disk is mounted at its hub's root. Its kubelet removes the content of the hub, and the
 * attachment pod is deleted.
 */
export async function expectDataLossInHub(world: ClusterWorld, vm: string, disk: string): Promise<void> {
  await world.kubectl('delete', 'pod', vm, '--wait=false');
  const content = world.kubectlCommand([
    ...['exec', `attach-${disk}`, '--container', 'hold', '--'],
    ...['ls', '-R', '/volume'],
  ]);
  let last = '';
  await until(
    () => `the kubelet to empty the hub: ${last}`,
    async () => {
      const { exitCode, stdout, stderr } = await run(content);
      last = stderr + stdout;
      // After a power loss the mount container may be starting again, and files may vanish while it lists
      // them.
      return exitCode === 0 && !stdout.includes('canary');
    },
    volumeDeadlineMs,
  );
  await deleteVm(world.cloud, { vmCid: vm });
  await world.untilGone(`attach-${disk}`);
}
