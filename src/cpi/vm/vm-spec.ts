import { agentSettings } from './agent-settings.ts';
import { type InstanceGroup, parseInstanceGroup } from '../objects/instance-group.ts';
import { type Networks, parseNetworks } from '../network/networks.ts';
import type { CallContext } from '../call.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';
import {
  type Location,
  child,
  recordAt,
  type Json,
  optionalStringAt,
  booleanAt,
  invalidValue,
} from '../input.ts';
import { vmCid } from '../objects/names.ts';
import type { ServiceRequest } from '../service/service-properties.ts';
import { vipService } from '../service/vip.ts';
import { parseStemcellCid, type Architecture } from '../stemcell/stemcell-cid.ts';
import { parseVmProperties, type VmProperties } from './properties.ts';

/** A VM as a request of create_vm or check_vm describes it. */
export interface VmSpec extends InstanceGroup {
  readonly cid: string;
  readonly agentId: string;
  readonly image: string;
  /** The architecture of the stemcell, if its cid has one. */
  readonly architecture?: Architecture | undefined;
  readonly properties: VmProperties;
  readonly networks: Networks;
  /** The Services of the cloud_properties and those behind vips. */
  readonly services: readonly ServiceRequest[];
  /** Disks that the VM will get: hints for its placement. */
  readonly diskCids: readonly string[];
  /** env.bosh.job_dir.tmpfs: how much memory rendered jobs may take. Absent: they are on the data volume. */
  readonly jobsInMemory?: string | undefined;
  /** The agent's settings. Secret. */
  readonly settings: string;
}

/**
 * Parses the request of create_vm or check_vm; errors name `method`. Checks everything that can be checked
 * without Kubernetes.
 */
export function parseVmSpec(
  { config }: CallContext,
  request: CreateVmRequest,
  method: 'create_vm' | 'check_vm' = 'create_vm',
): VmSpec {
  const place: Location = { code: 'INVALID_ARGUMENT', path: method };
  const { agentId, diskCids } = request;
  const { image, architecture } = parseStemcellCid(request.stemcellCid, child(place, 'stemcell_cid'));
  const properties = parseVmProperties(request.cloudProperties, child(place, 'cloud_properties'), config);
  const networks = parseNetworks(request.networks, child(place, 'networks'));
  const { jobsInMemory, env } = parseJobsInMemory(request.env, child(place, 'env'));
  const cid = vmCid(agentId);
  return {
    ...{ cid, agentId, image, architecture, properties, networks, diskCids, jobsInMemory },
    ...parseInstanceGroup(env, child(place, 'env')),
    services: [...properties.services, ...networks.vips.flatMap(vipService)],
    settings: agentSettings({ agentId, cid, networks: networks.given, env, agent: config.agent }),
  };
}

/** The default of bosh-agent: platform/linux_platform.go, SetupDataDir. */
const defaultSize = '100m';
const units: Readonly<Record<string, string>> = { '': '', k: 'Ki', m: 'Mi', g: 'Gi' };

export interface JobsInMemory {
  /**
   * How much memory rendered jobs may take, as a quantity; undefined: they are on the disk of /var/vcap/data.
   */
  readonly jobsInMemory: string | undefined;
  /**
   * The env without `job_dir`: a mount that the agent makes would be empty after a restart of the container.
   */
  readonly env: Json;
}

/** Reads env.bosh.job_dir. The pod provides this mount (pod.ts), not the agent. */
export function parseJobsInMemory(env: Json, place: Location): JobsInMemory {
  const bosh = recordAt(env['bosh'], child(place, 'bosh'));
  if (bosh['job_dir'] === undefined) return { jobsInMemory: undefined, env };
  const where = child(child(place, 'bosh'), 'job_dir');
  const { job_dir, ...others } = bosh;
  const jobs = recordAt(job_dir, where);
  const enabled = booleanAt(jobs['tmpfs'], child(where, 'tmpfs')) === true;
  const size = optionalStringAt(jobs['tmpfs_size'], child(where, 'tmpfs_size')) ?? defaultSize;
  return { jobsInMemory: enabled ? toQuantity(size, where) : undefined, env: { ...env, bosh: others } };
}

/** Converts a size of mount(8) to a quantity of Kubernetes, in which `100m` is a tenth of a byte. */
function toQuantity(text: string, place: Location): string {
  const [, number, unit = ''] = /^([1-9]\d{0,11})([kmg]?)$/iu.exec(text) ?? [];
  if (number === undefined)
    throw invalidValue(
      child(place, 'tmpfs_size'),
      'has to be a number of bytes, KiB, MiB or GiB, such as 100m or 1g',
    );
  return `${number}${units[unit.toLowerCase()] ?? ''}`;
}
