import { randomUUID } from 'node:crypto';
import { errorCode } from '../../../src/agent/file/error-code.ts';
import { AgentClient } from '../../../src/agent/testing/agent-client.ts';
import type { CallContext } from '../../../src/cpi/call.ts';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { createTestAuthority } from '../../../src/kubernetes/testing/certificates.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { startCountingJob } from '../../../src/agent/testing/counting-job.ts';
import { reaches } from '../../../src/agent/testing/specs.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { followWrites } from './disk-setup.ts';
import { isBusy } from './detach-scenarios.ts';

/** A VM of the real cluster whose agent responds, and the agent's client. */
export interface AgentVm {
  readonly cid: string;
  readonly address: string;
  readonly client: AgentClient;
  /** The CPI that created the VM. */
  readonly cloud: CallContext;
}

/** Creates a VM with that fixed address and waits for its agent, whose certificate is for the address. */
export async function newAgentVm(world: ClusterWorld, address: string, vm: NewVm = {}): Promise<AgentVm> {
  const authority = await createTestAuthority();
  const pair = await authority.server({ ip: address });
  const networks = {
    default: { type: 'manual', ip: address, netmask: '255.255.255.0', cloud_properties: {} },
  };
  const cert = { certificate: pair.certificate, private_key: pair.key };
  const env = { bosh: { mbus: { cert } } };
  const cid = await world.newVm({ agentId: randomUUID(), ...vm, networks, env });
  const authorization = `Basic ${Buffer.from('mbus:secret').toString('base64')}`;
  const client = new AgentClient({ host: address, port: 6868, ca: authority.ca, authorization });
  const made = { cid, address, client, cloud: vm.cloud ?? world.cloud };
  await untilAnswers(made);
  return made;
}

const notYet = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EHOSTUNREACH', 'ETIMEDOUT', 'ENETUNREACH']);

/**
 * Waits until the agent responds. Each attempt has a timeout of 3 s: if an address has moved to another node,
 * its neighbours send packets to the previous node for a while, and a connection attempt from that time
 * retries ever more rarely.
 */
export const untilAnswers = ({ client, cid }: AgentVm): Promise<boolean> =>
  until(`an answer of the agent of ${cid}`, async () => {
    try {
      const late = systemClock.sleep(3000).then(() => 'late');
      return (await Promise.race([client.value('ping'), late])) === 'pong';
    } catch (error) {
      if (notYet.has(errorCode(error) ?? '')) return false;
      throw error;
    }
  });

/** Creates and attaches a disk and lets the agent mount it at /var/vcap/store. */
export async function newAgentDisk(world: ClusterWorld, { cid, client, cloud }: AgentVm): Promise<string> {
  const disk = await world.newDisk('loop');
  const hint = await attachDisk(cloud, { vmCid: cid, diskCid: disk });
  await client.task('add_persistent_disk', disk, { path: hint });
  await client.task('mount_disk', disk);
  return disk;
}

/**
 * The file to which the job writes the number of the last line on the disk. It is outside of the disk and
 * outlives the container.
 */
const acknowledged = '/var/vcap/data/acknowledged';

/**
 * Appends numbered lines and syncs each. After a restart it continues after the last line that is on the disk
 * or that it has acknowledged. On an empty store it does the same, and the earlier lines are then missing.
 */
const writer = `cd /var/vcap/store
  trap "exit 0" TERM
  i=$(wc -l < log || echo 0)
  told=$(tail -n 1 ${acknowledged} || echo 0)
  [ "\${told:-0}" -le "$i" ] || i=$told
  while i=$((i + 1)); echo $i >> log && sync -d log; do echo $i >> ${acknowledged}; sleep 0.1; done`;

/**
 * Applies and starts a job that writes to the disk that the agent has mounted. Resolves when some lines are
 * written and synced.
 */
export async function startWritingJob(world: ClusterWorld, vm: AgentVm, disk: string): Promise<void> {
  await world.inVm(vm.cid, `cd /var/vcap/store && echo ${disk} > canary && sync -f .`);
  await startCountingJob(vm.client, writer);
  await followWrites(world, vm.cid, { disk, file: acknowledged });
}

/** Waits until the agent of a VM that was down responds and its job has continued to write. */
export async function untilJobWrites(world: ClusterWorld, vm: AgentVm, disk: string): Promise<void> {
  await untilAnswers(vm);
  await reaches(vm.client, 'running');
  await followWrites(world, vm.cid, { disk, file: acknowledged });
}

/** Returns how often the job has started. */
export const lives = async (world: ClusterWorld, { cid }: AgentVm): Promise<number> =>
  Number(await world.inVm(cid, 'wc -l < /var/vcap/store/lives'));

/** Returns the restart count of the VM's container, or -1 while it does not run. */
export async function restarts(world: ClusterWorld, { cid }: AgentVm): Promise<number> {
  const [status] = (await world.pod(cid)).status?.containerStatuses ?? [];
  return status?.state?.running === undefined ? -1 : (status.restartCount ?? 0);
}

/**
 * Calls detach_disk while the job writes. If this is rejected, stops the job and detaches the disk, as a
 * director does. Returns true if it was rejected.
 */
export async function detachFromJob(
  world: ClusterWorld,
  { cid, client, cloud }: AgentVm,
  disk: string,
): Promise<boolean> {
  const isRefused = await isBusy(detachDisk(cloud, { vmCid: cid, diskCid: disk }));
  if (!isRefused) return false;
  await client.task('stop');
  world.acknowledged.record(disk, Number(await world.inVm(cid, `tail -n 1 ${acknowledged}`)));
  world.acknowledged.end(disk);
  await client.task('unmount_disk', disk);
  await client.task('remove_persistent_disk', disk);
  await detachDisk(cloud, { vmCid: cid, diskCid: disk });
  return true;
}
