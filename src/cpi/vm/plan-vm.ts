import { type InstanceGroup, parseInstanceGroup } from '../objects/labels.ts';
import { type Networks, nameServers, parseNetworks } from '../network/networks.ts';
import type { CallContext } from '../call.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';
import { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
import { vmCid } from '../objects/names.ts';
import type { ServiceRequest } from '../service/service-properties.ts';
import { vipService } from '../service/vip.ts';
import { parseStemcellCid, type Architecture } from '../stemcell/stemcell-cid.ts';
import { parseVmProperties, type VmProperties } from './properties.ts';
import type { NodeSelectorTerm } from '../../kubernetes/types/pod.ts';
import type { PodNetworking } from '../network/pod-networking.ts';
import type { AttachStrategy } from '../config/cluster-access.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { CpiConfig } from '../config/config.ts';

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
 * Parses the request of create_vm or check_vm; errors name `method`.
 * Checks everything that can be checked without Kubernetes. The strategy for disks is decided later.
 */
export function parseVmRequest(
  call: CallContext,
  request: CreateVmRequest,
  method: 'create_vm' | 'check_vm' = 'create_vm',
): VmSpec {
  const argument = (name: string, value: unknown): Field =>
    new Field(value, `${method}.${name}`, 'INVALID_ARGUMENT');
  const { config, namespace, directorUuid } = call;
  const { agentId, diskCids } = request;
  const { image, architecture } = parseStemcellCid(argument('stemcell_cid', request.stemcellCid));
  const properties = parseVmProperties(argument('cloud_properties', request.cloudProperties), config);
  const networks = parseNetworks(argument('networks', request.networks));
  const { jobsInMemory, env } = parseJobsInMemory(argument('env', request.env));
  const cid = vmCid(agentId);
  const { agent } = config;
  return {
    plan: {
      ...{ cid, agentId, namespace, image, architecture, properties, directorUuid },
      ...parseInstanceGroup(argument('env', env)),
      nameServers: nameServers(networks),
      jobsInMemory,
      attach: 'hot',
    },
    settings: agentSettings({ agentId, cid, networks: networks.given, env, agent }),
    networks,
    services: [...properties.services, ...networks.vips.flatMap(vipService)],
    diskCids,
  };
}

/** What create_vm creates: the arguments of the call, completed with facts of the cluster. */
export interface VmPlan extends InstanceGroup {
  readonly cid: string;
  readonly agentId: string;
  readonly namespace: string;
  readonly image: string;
  /** The architecture of the stemcell, if its cid has one. */
  readonly architecture?: Architecture | undefined;
  readonly properties: VmProperties;
  readonly networking: PodNetworking;
  /** Empty: the name servers of the cluster. */
  readonly nameServers: readonly string[];
  /** Node selector terms from which the volumes of its disks can be reached. */
  readonly volumeTerms?: readonly NodeSelectorTerm[];
  readonly directorUuid: string | undefined;
  /** env.bosh.job_dir.tmpfs: how much memory rendered jobs may take. Absent: they are on the data volume. */
  readonly jobsInMemory?: string | undefined;
  readonly attach: AttachStrategy;
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
  readonly env: JsonObject;
}

/** Reads env.bosh.job_dir. The pod provides this mount (pod.ts), not the agent. */
export function parseJobsInMemory(env: Field): JobsInMemory {
  const bosh = env.get('bosh');
  const { job_dir: directory, ...others } = bosh.record();
  if (directory === undefined) return { jobsInMemory: undefined, env: env.record() };
  const isTmpfs = bosh.get('job_dir').get('tmpfs').optional()?.boolean() === true;
  const size = toQuantity(bosh.get('job_dir').get('tmpfs_size'));
  return { jobsInMemory: isTmpfs ? size : undefined, env: { ...env.record(), bosh: others } };
}

/** Converts a size of mount(8) to a quantity of Kubernetes, in which `100m` is a tenth of a byte. */
function toQuantity(field: Field): string {
  const text = field.optional()?.nonEmptyString() ?? defaultSize;
  const [, number, unit = ''] = /^([1-9]\d{0,11})([kmg]?)$/iu.exec(text) ?? [];
  if (number === undefined)
    throw field.error('must be a number of bytes, KiB, MiB or GiB, such as 100m or 1g');
  return `${number}${units[unit.toLowerCase()] ?? ''}`;
}

export interface AgentSettingsInput {
  readonly agentId: string;
  readonly cid: string;
  readonly networks: Readonly<Record<string, JsonObject>>;
  readonly env: JsonObject;
  readonly agent: CpiConfig['agent'];
}

/** The blobstore that create-env's agent and the CLI share (bosh-deployment: bosh.yml). */
const localBlobstore = {
  provider: 'local',
  options: { blobstore_path: '/var/vcap/micro_bosh/data/cache' },
};

/**
 * Returns the settings document of the agent (bosh-agent: settings/settings.go) as JSON. Secret. The networks
 * are preconfigured, because Kubernetes has set them up. Their name servers are in the pod
 * (src/cpi/network/networks.ts): for name servers in the settings an agent would restart systemd-resolved. The
 * document has no disks: hints come by add_persistent_disk.
 */
export function agentSettings({ agentId, cid, networks, env, agent }: AgentSettingsInput): string {
  const mbus = agent.mbus ?? firstMbusUrl(env);
  if (mbus === undefined) {
    throw new ProductError(
      'INVALID_CONFIG',
      'config.agent.mbus is not set and env.bosh.mbus.urls is empty: the agent would not know whom to speak to; set the property agent.mbus of the CPI',
    );
  }
  // no agent speaks plain http, and one that did would send the password in clear text
  if (/^http:/iu.test(mbus.trim())) {
    throw new ProductError(
      'INVALID_CONFIG',
      'the mbus of the VM (agent.mbus, or the first of env.bosh.mbus.urls) is plain http, which sends the password in clear text; give https or nats',
    );
  }
  const preconfigured = Object.entries(networks).map(([name, network]) => [
    name,
    { ...omitDns(network), preconfigured: true },
  ]);
  return JSON.stringify({
    agent_id: agentId,
    vm: { name: cid },
    mbus,
    ntp: agent.ntp,
    blobstore: agent.blobstore ?? localBlobstore,
    networks: Object.fromEntries(preconfigured),
    disks: { system: '', ephemeral: '', persistent: {}, raw_ephemeral: [] },
    env,
  });
}

function omitDns(network: JsonObject): JsonObject {
  const { dns: _, ...rest } = network;
  return rest;
}

function firstMbusUrl(env: JsonObject): string | undefined {
  const urls: unknown = (env['bosh'] as { mbus?: { urls?: unknown } } | null | undefined)?.mbus?.urls;
  return Array.isArray(urls) && typeof urls[0] === 'string' ? urls[0] : undefined;
}
