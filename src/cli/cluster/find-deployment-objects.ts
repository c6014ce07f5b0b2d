import { objectAnnotations, objectLabels } from '../../bosh/object-labels.ts';
import type { FoundDisk, FoundObjects, FoundVm } from '../../deploy/state/choose-resources.ts';
import { ProductError } from '../../errors/product-error.ts';
import { type KubernetesApi, ifAllowed } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { parseQuantity } from '../../kubernetes/types/quantity.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods, secrets } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';
import { listBoshObjects } from './bosh-objects.ts';

const { agentId, directorId, kind, provisional, vmId } = objectLabels;

/**
 * Returns the VMs and disks of the CPI in its namespaces, with what `state restore` needs to know. Includes a
 * VM whose pod was deleted outside of BOSH, if the role may list Secrets. Leaves out what is being deleted.
 */
export async function findDeploymentObjects(
  api: KubernetesApi,
  { vms: namespace, disks: diskNamespace }: { readonly vms: string; readonly disks: string },
): Promise<FoundObjects> {
  const ofVms = { namespace, labelSelector: `${kind}=vm` };
  const [vmPods, vmSecrets, claims, listed] = await Promise.all([
    api.list<Pod>(pods, ofVms),
    ifAllowed(api.list<KubernetesObject>(secrets, ofVms)),
    api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
      namespace: diskNamespace,
      labelSelector: `${kind}=disk,!${provisional}`,
    }),
    listBoshObjects(api, namespace, diskNamespace),
  ]);
  const podOf = new Map(vmPods.items.map((pod) => [pod.metadata.name, pod] as const));
  const owners = vmSecrets === undefined ? vmPods.items : vmSecrets.items;
  const vmOf = new Map(listed.disks.map(({ cid, vm }) => [cid, vm] as const));
  return {
    vms: owners
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((owner) => foundVm(owner, podOf.get(owner.metadata.name), vmSecrets !== undefined)),
    disks: claims.items
      .filter((claim) => !isBeingDeleted(claim))
      .map((claim) => foundDisk(claim, vmOf.get(claim.metadata.name) ?? claim.metadata.labels?.[vmId])),
  };
}

/** A claim that another client deletes while it is attached is still a disk: its data can be saved. */
const isBeingDeleted = ({ metadata }: KubernetesObject): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.annotations?.[objectAnnotations.deleting] === 'true';

function foundVm(owner: KubernetesObject, pod: Pod | undefined, isSecret: boolean): FoundVm {
  const metadata = metadataOf(pod);
  const isDone = owner.metadata.annotations?.[objectAnnotations.creation] === 'done';
  return {
    ...common(owner, metadata),
    agentId: owner.metadata.labels?.[agentId],
    isFinished: metadata !== undefined || isDone || !isSecret,
  };
}

function foundDisk(claim: PersistentVolumeClaim, vmCid: string | undefined): FoundDisk {
  return {
    ...common(claim, metadataOf(claim)),
    size: sizeOf(claim),
    vmCid,
    isUnclaimed: claim.metadata.labels?.[objectLabels.unclaimed] !== undefined && vmCid === undefined,
  };
}

const common = ({ metadata }: KubernetesObject, described: JsonObject | undefined) => ({
  cid: metadata.name,
  directorId: metadata.labels?.[directorId],
  metadata: described,
  createdAt: metadata.creationTimestamp ?? '',
});

/** Returns the requested size in MiB. */
function sizeOf({ metadata, spec }: PersistentVolumeClaim): number {
  const bytes = parseQuantity(spec.resources?.requests?.['storage'] ?? '');
  if (bytes === undefined)
    throw new ProductError(
      'STATE_NOT_RESTORED',
      `No state file was written: disk '${metadata.name}' has no valid size in spec.resources.requests.storage`,
    );
  return Math.ceil(Number(bytes) / 2 ** 20);
}

/** Returns undefined for other texts than JSON objects: every user who may edit pods can set any annotation. */
function metadataOf(object: KubernetesObject | undefined): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(object?.metadata.annotations?.[objectAnnotations.metadata] ?? 'null');
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return undefined;
  }
}
