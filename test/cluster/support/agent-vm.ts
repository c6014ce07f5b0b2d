import { randomUUID } from 'node:crypto';
import { errorCode } from '../../../src/agent/file/error-code.ts';
import { AgentClient } from '../../../src/agent/testing/agent-client.ts';
import type { CallContext } from '../../../src/cpi/call.ts';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { createTestAuthority } from '../../../src/kubernetes/testing/certificates.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';

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
  const hint = await attachDisk(cloud, [cid, disk]);
  await client.task('add_persistent_disk', disk, { path: hint });
  await client.task('mount_disk', disk);
  return disk;
}
