import type { Networks } from '../address/networks.ts';
import { nameServers } from '../address/name-servers.ts';
import { parseNetworks } from '../address/networks.ts';
import type { CallContext } from '../cloud.ts';
import type { Location } from '../input.ts';
import { child, recordAt, stringAt, stringsAt } from '../input.ts';
import { vmCid } from '../names.ts';
import type { ServiceRequest } from '../service/service-request.ts';
import { vipService } from '../service/vip.ts';
import { parseStemcellCid } from '../stemcell/stemcell-cid.ts';
import { agentSettings } from './agent-settings.ts';
import { parseInstanceGroup } from './instance-group.ts';
import { parseJobsInMemory } from './jobs-in-memory.ts';
import type { VmPlan } from './vm-plan.ts';
import { parseVmProperties } from './vm-properties.ts';

export interface VmRequest {
  readonly plan: VmPlan;
  /** The agent's settings. Secret. */
  readonly settings: string;
  readonly networks: Networks;
  /** The Services of the cloud_properties and those behind vips. */
  readonly services: readonly ServiceRequest[];
  /** Disks that the VM will get: hints for its placement. */
  readonly diskCids: readonly string[];
}

/** What the arguments contain. How the cluster provides the networks is read from the cluster later. */
export type VmSpec = Omit<VmRequest, 'plan'> & { readonly plan: Omit<VmPlan, 'networking'> };

/**
 * Parses the arguments of create_vm, which are also the first arguments of check_vm; errors name `method`.
 * Checks everything that can be checked without Kubernetes. The strategy for disks is decided later.
 */
export function parseVmRequest(
  cloud: CallContext,
  args: readonly unknown[],
  method: 'create_vm' | 'check_vm' = 'create_vm',
): VmSpec {
  const place: Location = { code: 'INVALID_ARGUMENT', path: method };
  const { config, namespace, directorUuid } = cloud;
  const agentId = stringAt(args[0], child(place, 'agent_id'));
  const stemcell = stringAt(args[1], child(place, 'stemcell_cid'));
  const { image, architecture } = parseStemcellCid(stemcell, child(place, 'stemcell_cid'));
  const properties = parseVmProperties(args[2], child(place, 'cloud_properties'), config);
  const networks = parseNetworks(args[3], child(place, 'networks'));
  const diskCids = stringsAt(args[4], child(place, 'disk_cids'));
  const raw = recordAt(args[5], child(place, 'env'));
  const { jobsInMemory, env } = parseJobsInMemory(raw, child(place, 'env'));
  const cid = vmCid(agentId);
  const { agent } = config;
  return {
    plan: {
      ...{ cid, agentId, namespace, image, architecture, properties, directorUuid },
      ...parseInstanceGroup(env, child(place, 'env')),
      nameServers: nameServers(networks),
      jobsInMemory,
      attach: 'hot',
    },
    settings: agentSettings({ agentId, vmCid: cid, networks: networks.given, env, agent }),
    networks,
    services: [...properties.services, ...networks.vips.flatMap(vipService)],
    diskCids,
  };
}
