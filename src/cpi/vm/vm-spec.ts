import { type AttachStrategy } from '../config/cluster-access.ts';
import { type PodNetworking } from '../network/pod-networking.ts';
import { type NodeSelectorTerm } from '../../kubernetes/types/pod.ts';
import { agentSettings } from './agent-settings.ts';
import { type InstanceGroup, parseInstanceGroup } from '../objects/instance-group.ts';
import { type Networks, parseNetworks } from '../network/networks.ts';
import type { CallContext } from '../call.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';
import { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
import { vmCid } from '../objects/names.ts';
import type { ServiceRequest } from '../service/service-properties.ts';
import { vipService } from '../service/vip.ts';
import { parseStemcellCid, type Architecture } from '../stemcell/stemcell-cid.ts';
import { parseVmProperties, type VmProperties } from './properties.ts';

/** The default size of job_dir in bosh-agent: platform/linux_platform.go, SetupDataDir. */
const defaultSize = '100m';
const units: Readonly<Record<string, string>> = { '': '', k: 'Ki', m: 'Mi', g: 'Gi' };

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

/** A VM as create_vm creates it in this cluster (plan-vm.ts). */
export interface VmPlan {
  readonly spec: VmSpec;
  readonly facts: ClusterFacts;
}

/** The properties of a VM that depend on the cluster. */
export interface ClusterFacts {
  readonly attach: AttachStrategy;
  readonly networking: PodNetworking;
  /** Node selector terms, as alternatives, from which the VM's disks can be reached; empty: any node. */
  readonly volumeTerms: readonly NodeSelectorTerm[];
}

/**
 * Parses the request of create_vm or check_vm; errors name `method`. Checks everything that can be checked
 * without Kubernetes.
 */
export function parseVmSpec(
  { config }: Pick<CallContext, 'config'>,
  request: CreateVmRequest,
  method: 'create_vm' | 'check_vm' = 'create_vm',
): VmSpec {
  const argument = (name: string, value: unknown): Field =>
    new Field(value, `${method}.${name}`, 'INVALID_ARGUMENT');
  const { agentId, diskCids } = request;
  const { image, architecture } = parseStemcellCid(argument('stemcell_cid', request.stemcellCid));
  const properties = parseVmProperties(argument('cloud_properties', request.cloudProperties), config);
  const networks = parseNetworks(argument('networks', request.networks));
  const { jobsInMemory, env } = parseJobsInMemory(argument('env', request.env));
  const cid = vmCid(agentId);
  return {
    ...{ cid, agentId, image, architecture, properties, networks, diskCids, jobsInMemory },
    ...parseInstanceGroup(argument('env', env)),
    services: [...properties.services, ...networks.vips.flatMap(vipService)],
    settings: agentSettings({ agentId, cid, networks: networks.given, env, agent: config.agent }),
  };
}

interface JobsInMemory {
  /**
   * How much memory rendered jobs may take, as a quantity; undefined: they are on the disk of /var/vcap/data.
   */
  readonly jobsInMemory: string | undefined;
  /**
   * The env without `job_dir`: a mount that the agent makes would be empty after a restart of the container.
   */
  readonly env: JsonObject;
}

/** Reads env.bosh.job_dir. The pod provides this mount (pod.ts), not the agent. */
function parseJobsInMemory(env: Field): JobsInMemory {
  const bosh = env.get('bosh');
  const { job_dir: directory, ...others } = bosh.record();
  if (directory === undefined) return { jobsInMemory: undefined, env: env.record() };
  const isTmpfs = bosh.get('job_dir').get('tmpfs').optional()?.boolean() === true;
  const size = bosh.get('job_dir').get('tmpfs_size');
  return { jobsInMemory: isTmpfs ? toQuantity(size) : undefined, env: { ...env.record(), bosh: others } };
}

/** Converts a size of mount(8) to a quantity of Kubernetes, in which `100m` is a tenth of a byte. */
function toQuantity(field: Field): string {
  const text = field.optional()?.nonEmptyString() ?? defaultSize;
  const [, number, unit = ''] = /^([1-9]\d{0,11})([kmg]?)$/iu.exec(text) ?? [];
  if (number === undefined)
    throw field.error('must be a number of bytes, KiB, MiB or GiB, such as 100m or 1g');
  return `${number}${units[unit.toLowerCase()] ?? ''}`;
}
