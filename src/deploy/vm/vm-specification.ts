import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { networkInterfaces } from '../../bosh/manifest/read-networks.ts';
import { isObject } from '../../platform/json.ts';
import type { CreateVmArguments } from '../cpi/cpi-client.ts';
import type { StemcellRecord } from '../state/deployment-state.ts';

type Properties = Readonly<Record<string, unknown>>;

export interface VmSpecification extends Omit<CreateVmArguments, 'agentId'> {
  /** The stemcell's id in the state file. */
  readonly stemcellId: string;
}

/** Returns the arguments of create_vm for the manifest's instance, except for the agent id. */
export function vmSpecification(
  manifest: Manifest,
  stemcell: StemcellRecord,
  diskCids: readonly string[],
): VmSpecification {
  const { resourcePool, tags } = manifest;
  return {
    stemcellId: stemcell.id,
    stemcellCid: stemcell.cid,
    cloudProperties: resourcePool.cloudProperties,
    networks: networkInterfaces(manifest),
    diskCids,
    env: Object.keys(tags).length === 0 ? resourcePool.env : withTags(resourcePool.env, tags),
  };
}

/** Returns the metadata of the instance's VM (bosh-cli deployment/vm/manager.go). */
export function vmMetadata(
  { name, instanceGroup, tags }: Manifest,
  now: number,
): Readonly<Record<string, string>> {
  return {
    deployment: name,
    job: instanceGroup.name,
    instance_group: instanceGroup.name,
    index: '0',
    director: 'bosh-init',
    name: `${instanceGroup.name}/0`,
    created_at: rfc3339(now),
    ...tags,
  };
}

/**
 * Returns the metadata of the instance's disk, without the time of the attachment (bosh-cli
 * deployment/vm/vm.go).
 */
export function diskMetadata({ name, instanceGroup, tags }: Manifest): Readonly<Record<string, string>> {
  return {
    deployment: name,
    instance_group: instanceGroup.name,
    director: 'bosh-init',
    ...tags,
    instance_index: '0',
  };
}

function withTags(env: Properties, tags: Properties): Properties {
  const { bosh } = env;
  return { ...env, bosh: { ...(isObject(bosh) ? bosh : {}), tags } };
}

/** Formats a time in milliseconds as bosh writes times into metadata: in whole seconds. */
export function rfc3339(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}
