import { podReference, secretReference, isVmCid } from '../objects/names.ts';
import { ignoreNotFound } from '../../kubernetes/api.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { KubernetesObject, NamespacedObject, OwnerReference, Stored } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { CallContext } from '../call.ts';
import { isManaged } from '../objects/labels.ts';

import { vmContainerStatus } from '../objects/layout.ts';

/**
 * Reads the pod of a VM; undefined if the CPI manages no VM of that cid. An API error rejects: it is not an
 * absence.
 */
export async function findVm(call: CallContext, cid: unknown): Promise<Stored<Pod> | undefined> {
  if (!isVmCid(cid)) return undefined;
  const pod = await ignoreNotFound(call.api.get<Pod>(podReference(call, cid)));
  return pod !== undefined && isManaged(pod, 'vm') ? pod : undefined;
}

/** Reads the Secret of a VM, which owns all its objects; undefined if the CPI manages no VM of that cid. */
export async function findVmSecret(call: CallContext, cid: unknown): Promise<Stored<VmSecret> | undefined> {
  if (!isVmCid(cid)) return undefined;
  const secret = await ignoreNotFound(call.api.get<VmSecret>(secretReference(call, cid)));
  return secret !== undefined && isManaged(secret, 'vm') ? secret : undefined;
}

/** Returns the uid of the Secret that owns an object of a VM. */
export const ownerUidOf = (object: KubernetesObject | undefined): string | undefined =>
  object?.metadata.ownerReferences?.[0]?.uid;

/** Returns the object with the Secret of a VM as its only owner: it is deleted with that Secret. */
export function withOwner<T extends KubernetesObject>(
  object: T,
  secret: { readonly metadata: Pick<OwnerReference, 'name' | 'uid'> },
): T {
  const { name, uid } = secret.metadata;
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name, uid }];
  return { ...object, metadata: { ...object.metadata, ownerReferences } };
}

/** The next step of an operator whose VM does not exist anymore. */
export const recreateHint = 'recreate it (bosh cloud-check, or create-env)';

export function vmNotFound(call: CallContext, cid: string): ProductError {
  return new ProductError(
    'VM_NOT_FOUND',
    `there is no VM '${cid}' in namespace ${call.namespace}; if it is in another namespace, correct kubernetes.namespace, otherwise ${recreateHint}`,
  );
}

/** True while the VM's container runs. */
export const isVmRunning = ({ status }: Pod): boolean =>
  vmContainerStatus(status?.containerStatuses)?.state?.running !== undefined;

/** The part of v1.Secret that the CPI writes or reads. */
export interface VmSecret extends NamespacedObject {
  type: string;
  data: Record<string, string>;
}
