import type { BlobReference } from '../../bosh/agent-client/agent-client.ts';
import type { NetworkInterface } from '../../bosh/manifest/read-networks.ts';

type Json = Readonly<Record<string, unknown>>;

export type ApplySpec = Json;

export interface InstanceIdentity {
  readonly deployment: string;
  /** The name of the instance group. */
  readonly name: string;
  /** The settings by network name, as create_vm received them. */
  readonly networks: Json;
}

interface DeployedContent {
  readonly jobs: readonly { readonly name: string; readonly fingerprint: string }[];
  readonly packages: readonly BlobReference[];
  readonly templates: { readonly blobstoreId: string; readonly sha1: string };
}

const nothingDeployed: DeployedContent = { jobs: [], packages: [], templates: { blobstoreId: '', sha1: '' } };

/**
 * Returns the spec that an agent applies (bosh-cli deployment/instance/state/state.go). Without `content` it
 * contains only the networks.
 */
export function applySpec(identity: InstanceIdentity, content = nothingDeployed): ApplySpec {
  const { deployment, name, networks } = identity;
  return {
    deployment,
    name,
    index: 0,
    id: '0',
    az: 'unknown',
    networks,
    job: {
      name,
      templates: content.jobs.map((job) => ({
        name: job.name,
        version: job.fingerprint,
        sha1: '',
        blobstore_id: '',
      })),
    },
    packages: Object.fromEntries(content.packages.map((reference) => [reference.name, blob(reference)])),
    rendered_templates_archive: { blobstore_id: content.templates.blobstoreId, sha1: content.templates.sha1 },
    configuration_hash: 'unused-configuration-hash',
  };
}

function blob({ name, version, sha1, blobstoreId }: BlobReference): Json {
  return { name, version, sha1, blobstore_id: blobstoreId };
}

/**
 * Returns the instance's address on its only network or on the one with the default gateway. The agent
 * reports the address on a dynamic network (bosh-cli deployment/instance/state/builder.go). Returns undefined
 * while the address is not known.
 */
export function instanceAddress(
  networks: Readonly<Record<string, NetworkInterface>>,
  reported: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const entries = Object.entries(networks);
  const chosen = entries.length === 1 ? entries[0] : entries.find(([, network]) => hasGateway(network));
  if (chosen === undefined) return undefined;
  const [name, { type, ip }] = chosen;
  if (type === 'dynamic') return reported[name];
  return typeof ip === 'string' ? ip : undefined;
}

function hasGateway({ default: defaults }: NetworkInterface): boolean {
  return Array.isArray(defaults) && defaults.includes('gateway');
}
