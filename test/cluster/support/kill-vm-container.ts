import assert from 'node:assert/strict';
import type { ClusterWorld } from './cluster-world.ts';

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
