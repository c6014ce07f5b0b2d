import type { BlobReference } from '../../bosh/agent-client/agent-client.ts';
import type { ApplySpec } from './update-instance.ts';

type Json = Readonly<Record<string, unknown>>;

export interface InstanceIdentity {
  readonly deployment: string;
  /** The instance group. */
  readonly name: string;
  /** By network name, as create_vm got them. */
  readonly networks: Json;
}

interface DeployedContent {
  readonly jobs: readonly { readonly name: string; readonly fingerprint: string }[];
  readonly packages: readonly BlobReference[];
  readonly templates: { readonly blobstoreId: string; readonly sha1: string };
}

const nothingDeployed: DeployedContent = { jobs: [], packages: [], templates: { blobstoreId: '', sha1: '' } };

/** The spec that an agent applies (bosh-cli deployment/instance/state/state.go); without content it only brings the networks. */
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
