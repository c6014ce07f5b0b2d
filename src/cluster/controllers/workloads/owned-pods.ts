import { isApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesApi, Resource } from '../../../kubernetes/api.ts';
import type { KubernetesObject, OwnerReference } from '../../../kubernetes/object.ts';
import { patchSeen } from '../runtime/finalizers.ts';

/** Who keeps a number of objects, and how it knows them. */
export interface Keeper {
  readonly kind: string;
  readonly apiVersion: string;
  readonly object: KubernetesObject;
  readonly selects: (labels: Readonly<Record<string, string>>) => boolean;
}

/** The one owner of an object that manages it. */
export function controllerOf({ metadata }: KubernetesObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

export function ownedBy({ kind, apiVersion, object }: Keeper): OwnerReference {
  const { name = '', uid = '' } = object.metadata;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/**
 * The objects of a keeper: its own, without those that its selector no longer selects, and orphans that it selects
 * (kubernetes: pkg/controller/controller_ref_manager.go). One that is being deleted takes and lets go of nothing.
 */
export async function claim<T extends KubernetesObject>(
  api: KubernetesApi,
  resource: Resource,
  keeper: Keeper,
): Promise<T[]> {
  const { namespace, uid, deletionTimestamp } = keeper.object.metadata;
  const { items } = await api.list<T>(resource, { namespace });
  const mine: T[] = [];
  for (const item of items) {
    const controller = controllerOf(item);
    const selected = keeper.selects(item.metadata.labels ?? {});
    const isMine = controller?.uid === uid;
    if (isMine && (selected || deletionTimestamp !== undefined)) mine.push(item);
    else if (deletionTimestamp !== undefined) continue;
    else if (isMine) await release(api, resource, item, uid);
    else if (controller === undefined && selected && item.metadata.deletionTimestamp === undefined) {
      const adopted = await adopt(api, resource, item, keeper);
      if (adopted !== undefined) mine.push(adopted);
    }
  }
  return mine;
}

async function release(
  api: KubernetesApi,
  resource: Resource,
  item: KubernetesObject,
  uid: string | undefined,
): Promise<void> {
  const ownerReferences = (item.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
  await patchSeen(api, resource, item, { metadata: { ownerReferences } });
}

async function adopt<T extends KubernetesObject>(
  api: KubernetesApi,
  resource: Resource,
  item: T,
  keeper: Keeper,
): Promise<T | undefined> {
  const ownerReferences = [...(item.metadata.ownerReferences ?? []), ownedBy(keeper)];
  try {
    return await patchSeen(api, resource, item, { metadata: { ownerReferences } });
  } catch (error) {
    // it changed meanwhile, which brings the keeper here again
    if (isApiError(error, 409)) return undefined;
    throw error;
  }
}
