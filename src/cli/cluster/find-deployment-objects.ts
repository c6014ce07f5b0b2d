import { objectAnnotations, objectLabels } from '../../bosh/object-labels.ts';
import type { FoundDisk, FoundObjects, FoundVm } from '../../deploy/state/choose-resources.ts';
import { ProductError } from '../../errors/product-error.ts';
import { type DiskItem, takeInventory } from '../../inventory/inventory.ts';
import { labelOf, recordOf } from '../../inventory/managed-objects.ts';
import { type Namespaces, readLists } from '../../inventory/object-lists.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { parseQuantity } from '../../kubernetes/types/quantity.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { type JsonObject, parseJsonObject } from '../../platform/json.ts';

const { agentId, directorId, provisional } = objectLabels;

/** The lists that `state restore` needs. Without Secrets it knows only VMs that have a pod. */
const requiredLists = { vmPods: 'pods', diskPods: 'pods', claims: 'PersistentVolumeClaims' } as const;

/**
 * Returns the VMs and disks of the CPI in its namespaces, with what `state restore` needs to know. Includes a
 * VM whose pod was deleted outside of BOSH, if the role may list Secrets. Leaves out what is being deleted.
 * Rejects with STATE_NOT_RESTORED if the role may not list pods or claims.
 */
export async function findDeploymentObjects(
  api: KubernetesApi,
  namespaces: Namespaces,
): Promise<FoundObjects> {
  const lists = await readLists(api, namespaces, ['vmSecrets', 'vmPods', 'diskPods', 'claims']);
  for (const [name, kinds] of Object.entries(requiredLists))
    if (lists[name as keyof typeof requiredLists] === undefined) throw mayNotList(kinds, namespaces);
  const { vms, disks } = takeInventory(lists);
  const mayListSecrets = lists.vmSecrets !== undefined;
  return {
    mayListSecrets,
    vms: vms.flatMap(({ pod, secret }) => {
      const owner = mayListSecrets ? secret : pod;
      if (owner === undefined || owner.metadata.deletionTimestamp !== undefined) return [];
      // A VM under `recreate` has no pod while a disk is being attached, and its Secret has a copy of it.
      const described = pod ?? (secret === undefined ? undefined : recordOf(secret));
      return [foundVm(owner, described, mayListSecrets)];
    }),
    disks: disks
      .filter(({ claim }) => labelOf(claim, provisional) === undefined && !isBeingDeleted(claim))
      .map(foundDisk),
  };
}

const mayNotList = (kinds: string, { vms, disks }: Namespaces): ProductError =>
  new ProductError(
    'STATE_NOT_RESTORED',
    `No state file was written: the kubeconfig does not allow listing ${kinds} in the namespaces '${vms}' and '${disks}'; ` +
      'name another one with --kubeconfig',
  );

/** A claim that another client deletes while it is attached is still a disk: its data can be saved. */
const isBeingDeleted = ({ metadata }: KubernetesObject): boolean =>
  metadata.deletionTimestamp !== undefined && metadata.annotations?.[objectAnnotations.deleting] === 'true';

function foundVm(owner: KubernetesObject, pod: KubernetesObject | undefined, isSecret: boolean): FoundVm {
  const metadata = metadataOf(pod);
  const isDone = owner.metadata.annotations?.[objectAnnotations.creation] === 'done';
  return {
    ...common(owner, metadata),
    agentId: owner.metadata.labels?.[agentId],
    isFinished: metadata !== undefined || isDone || !isSecret,
  };
}

function foundDisk({ claim, vm, unclaimed }: DiskItem): FoundDisk {
  return {
    ...common(claim, metadataOf(claim)),
    size: sizeOf(claim),
    vmCid: vm,
    isUnclaimed: unclaimed && vm === undefined,
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

/** Every user who may edit pods can set the annotation to any text. */
const metadataOf = (object: KubernetesObject | undefined): JsonObject | undefined =>
  parseJsonObject(object?.metadata.annotations?.[objectAnnotations.metadata] ?? '');
