import { AgentClient } from '../../agent/testing/agent-client.ts';
import { eventually } from '../../agent/testing/eventually.ts';
import { errorCode } from '../../agent/file/error-code.ts';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import type { CallContext } from '../call.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { createVm } from '../vm/create-vm.ts';
import type { EmbeddedWorld } from './embedded-world.ts';
import { createVmRequest } from './test-cloud.ts';

/** A VM of the embedded world with this project's agent, and the agent's client. */
export interface AgentVm {
  readonly cid: string;
  readonly client: AgentClient;
}

/** Creates a VM with that address and waits for its agent. */
export async function createAgentVm(
  world: EmbeddedWorld,
  options: { address: string; properties?: object; cloud?: CallContext; bosh?: object },
): Promise<AgentVm> {
  const { address, properties = {}, cloud = world.cloud, bosh = {} } = options;
  const authority = await createTestAuthority();
  const pair = await authority.server({ ip: address });
  const networks = {
    default: { type: 'manual', ip: address, netmask: '255.255.255.0', cloud_properties: {} },
  };
  const cert = { certificate: pair.certificate, private_key: pair.key };
  const env = { bosh: { mbus: { cert }, ...bosh } };
  const agentId = `agent-${address.replaceAll('.', '-')}`;
  const [cid] = await createVm(cloud, createVmRequest({ agentId, networks, properties, env }));
  const authorization = `Basic ${Buffer.from('mbus:secret').toString('base64')}`;
  const client = new AgentClient({ host: address, port: 6868, ca: authority.ca, authorization });
  const vm = { cid, client };
  await untilAnswers(vm);
  return vm;
}

export const untilAnswers = ({ client }: AgentVm): Promise<true> =>
  eventually('an answer of the agent', async () => {
    try {
      return (await client.value('ping')) === 'pong' ? true : undefined;
    } catch (error) {
      if (['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(errorCode(error) ?? '')) return undefined;
      throw error;
    }
  });

/** Creates a disk, attaches it, and mounts it through the agent at /var/vcap/store. */
export async function newAgentDisk(world: EmbeddedWorld, { cid, client }: AgentVm): Promise<string> {
  const disk = await createDisk(world.cloud, { sizeMiB: 16, cloudProperties: {}, vmCid: cid });
  const hint = await attachDisk(world.cloud, { vmCid: cid, diskCid: disk });
  await client.task('add_persistent_disk', disk, { path: hint });
  await client.task('mount_disk', disk);
  return disk;
}
