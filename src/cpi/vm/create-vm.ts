import { waitUntilAddressIsFree } from '../address/address-holders.ts';
import { parseNetworks } from '../address/networks.ts';
import type { Cloud } from '../cloud.ts';
import type { Json, Place } from '../input.ts';
import { at, optionalStringAt, recordAt, stringAt, stringsAt } from '../input.ts';
import { vmCid } from '../names.ts';
import { imageParts } from '../stemcell/create-stemcell.ts';
import { agentSettings } from './agent-settings.ts';
import { creationError } from './creation-error.ts';
import { ensureVm, hasAttachments } from './ensure-vm.ts';
import { removeVm } from './remove-vm.ts';
import type { VmPlan } from './vm-pod.ts';
import { parseVmProperties } from './vm-properties.ts';
import { waitUntilRunning } from './wait-until-running.ts';

export interface VmRequest {
  readonly plan: VmPlan;
  /** The agent's settings. Secret. */
  readonly settings: string;
  readonly networks: Readonly<Record<string, Json>>;
}

/**
 * create_vm(agent_id, stemcell_cid, cloud_properties, networks, disk_cids, env): returns `[vm_cid, networks]` when the
 * VM's container runs with the address that was asked for. Called again with the same agent id after any end it
 * arrives at one VM: the former one where it is what is asked for, else a new one.
 * Everything is checked before anything is made; a failure removes what was made, then rejects with VM_CREATION_FAILED
 * or, where a later try may succeed, VM_CREATION_FAILED_RETRY.
 */
export async function createVm(
  cloud: Cloud,
  args: readonly unknown[],
): Promise<[string, Record<string, Json>]> {
  const request = parseRequest(cloud, args);
  const { plan, networks } = request;
  if (plan.address !== undefined) await waitUntilAddressIsFree(cloud, plan.address, plan.cid);
  try {
    const pod = await ensureVm(cloud, request);
    const running = await waitUntilRunning(cloud, pod, plan.address);
    return [plan.cid, withAddress(networks, plan.address ?? running.status?.podIP)];
  } catch (error) {
    throw creationError(plan.cid, error, await removeFailed(cloud, plan.cid));
  }
}

function parseRequest(cloud: Cloud, args: readonly unknown[]): VmRequest {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'create_vm' };
  const { config, namespace, directorUuid } = cloud;
  const agentId = stringAt(args[0], at(place, 'agent_id'));
  const image = stringAt(args[1], at(place, 'stemcell_cid'));
  imageParts(image, at(place, 'stemcell_cid'));
  const properties = parseVmProperties(args[2], at(place, 'cloud_properties'), config);
  const networks = parseNetworks(args[3], at(place, 'networks'));
  stringsAt(args[4], at(place, 'disk_cids'));
  const env = recordAt(args[5], at(place, 'env'));
  const group = groupOf(env, at(place, 'env'));
  const cid = vmCid(agentId);
  const { agent } = config;
  return {
    plan: { cid, agentId, namespace, image, properties, address: networks.address, group, directorUuid },
    settings: agentSettings({ agentId, vmCid: cid, networks: networks.given, env, agent }),
    networks: networks.given,
  };
}

function groupOf(env: Json, place: Place): string | undefined {
  const bosh = recordAt(env['bosh'], at(place, 'bosh'));
  return optionalStringAt(bosh['group'], at(place, 'bosh.group'));
}

function withAddress(
  networks: Readonly<Record<string, Json>>,
  address: string | undefined,
): Record<string, Json> {
  const filled = Object.entries(networks).map(
    ([name, network]) => [name, address === undefined ? network : { ...network, ip: address }] as const,
  );
  return Object.fromEntries(filled);
}

/** What stood in the way of removing what was made; undefined when nothing is left. A VM with disks is not ours to end. */
async function removeFailed(cloud: Cloud, cid: string): Promise<unknown> {
  try {
    if (await hasAttachments(cloud, cid)) return new Error('disks are attached to it, so it was left alone');
    await removeVm(cloud, cid);
    return undefined;
  } catch (error) {
    return error;
  }
}
