import assert from 'node:assert/strict';
import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';
import type { WritingVm } from './disk-setup.ts';

const attachmentOf = ({ disks: [disk = ''] }: WritingVm): string => `attach-${disk}`;

/** Sends SIGKILL to every process of the attachment pod's container. */
export async function killContainers(world: ClusterWorld, subject: WritingVm): Promise<void> {
  const node = await world.nodeOf(subject.vm);
  const { containerStatuses } = (await world.pod(attachmentOf(subject))).status ?? {};
  const id = containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? '';
  const ofContainer = 'for p in /proc/[0-9]*; do grep -qs "$0" $p/cgroup && echo ${p#/proc/}; done; true';
  const { stdout, stderr } = await node.run(['sh', '-c', ofContainer, id]);
  const found = stdout.trim().split('\n');
  assert.ok(
    found.every((pid) => /^\d+$/u.test(pid)),
    stdout + stderr,
  );
  await node.run(['kill', '-9', ...found]);
}

/** Sends SIGKILL to the sandbox of the attachment pod, which ends its containers. */
export async function killSandbox(world: ClusterWorld, subject: WritingVm): Promise<void> {
  const node = await world.nodeOf(subject.vm);
  const uid = (await world.pod(attachmentOf(subject))).metadata.uid ?? '';
  const ctr = ['ctr', '--namespace', 'k8s.io'];
  const sandbox = `labels."io.kubernetes.pod.uid"==${uid},labels."io.cri-containerd.kind"==sandbox`;
  const found = await node.run([...ctr, 'containers', 'list', '--quiet', sandbox]);
  const killed = await node.run([...ctr, 'tasks', 'kill', '--signal', 'SIGKILL', found.stdout.trim()]);
  assert.equal(killed.exitCode, 0, found.stderr + killed.stderr);
}

/**
 * Sends SIGKILL to the mount container, which received SIGTERM and waits until the job has closed the disk.
 * Its mount is left.
 */
export async function killEndingMountContainer(world: ClusterWorld, subject: WritingVm): Promise<void> {
  const [disk = ''] = subject.disks;
  await (await world.nodeOf(subject.vm)).run(killMountContainerCommand(disk));
}

/** Waits until the attachment pod runs again after its container or its sandbox has ended. */
export async function untilRestarted(world: ClusterWorld, subject: WritingVm): Promise<void> {
  await until('a second life of the attachment', async () => {
    const [status] = (await world.pod(attachmentOf(subject))).status?.containerStatuses ?? [];
    return (status?.restartCount ?? 0) > 0 && status?.state?.running !== undefined;
  });
}

/**
 * Kills the mount container until its restart is delayed, and then deletes its pod. The pod is deleted, and
 * its mount stays in the VM's hub.
 */
export async function leakMount(world: ClusterWorld, subject: WritingVm): Promise<void> {
  const attachment = attachmentOf(subject);
  const [disk = ''] = subject.disks;
  const node = await world.nodeOf(subject.vm);
  let last: unknown;
  const what = (): string => `the holder to wait for its restart: ${JSON.stringify(last)}`;
  await until(what, async () => {
    const [holder] = (await world.pod(attachment)).status?.containerStatuses ?? [];
    last = holder;
    // A kubelet that sleeps until the restart is due does not report the delay.
    const isEnded = holder?.state?.terminated !== undefined && (holder.restartCount ?? 0) >= 2;
    if (isEnded || holder?.state?.waiting?.reason === 'CrashLoopBackOff') return true;
    if (holder?.state?.running !== undefined) await node.run(killMountContainerCommand(disk));
    return false;
  });
  await world.api.delete(world.podReference(attachment));
  // If the restart came first: nothing is restarted in a pod that is being deleted.
  await until('the attachment to be gone', async () => {
    await node.run(killMountContainerCommand(disk));
    return !(await world.isThere(world.podReference(attachment)));
  });
  const { uid = '' } = (await world.pod(subject.vm)).metadata;
  const mounts = await node.run(['grep', '-E', `pods/${uid}/.*/disks/${disk} `, '/proc/1/mountinfo']);
  assert.equal(mounts.exitCode, 0, 'nothing was left in the hub: the test has shown nothing');
}

/**
 * Returns the command that kills every process of the mount container's script with these arguments, so that
 * it cannot unmount.
 */
const killMountContainerCommand = (disk: string): string[] => [
  'sh',
  '-c',
  // Arguments in /proc/PID/cmdline end with a zero byte.
  `for words in $(grep -lzxF -- "$0" /proc/[0-9]*/cmdline 2>/dev/null); do
     grep -qzx hold "$words" 2>/dev/null || continue
     pid=\${words#/proc/}
     kill -9 "\${pid%/cmdline}"
   done; true`,
  disk,
];
