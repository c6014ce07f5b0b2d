import { ignoreNotFound } from '../../kubernetes/if-there.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { pods, secrets } from '../../kubernetes/resources.ts';
import type { CallContext } from '../cloud.ts';
import { isManaged } from '../labels.ts';
import { isVmCid } from '../names.ts';
import type { VmSecret } from './pod-record.ts';

export const podReference = (cloud: CallContext, name: string): ObjectReference => ({
  resource: pods,
  namespace: cloud.namespace,
  name,
});

export const secretReference = (cloud: CallContext, name: string): ObjectReference => ({
  resource: secrets,
  namespace: cloud.namespace,
  name,
});

/**
 * Reads the pod of a VM; undefined if the CPI manages no VM of that cid. An API error rejects: it is not an
 * absence.
 */
export async function findVm(cloud: CallContext, cid: unknown): Promise<Pod | undefined> {
  if (!isVmCid(cid)) return undefined;
  const pod = await ignoreNotFound(cloud.api.get<Pod>(podReference(cloud, cid)));
  return pod !== undefined && isManaged(pod, 'vm') ? pod : undefined;
}

/** Reads the Secret of a VM, which owns all its objects; undefined if the CPI manages no VM of that cid. */
export async function findVmSecret(cloud: CallContext, cid: unknown): Promise<VmSecret | undefined> {
  if (!isVmCid(cid)) return undefined;
  const secret = await ignoreNotFound(cloud.api.get<VmSecret>(secretReference(cloud, cid)));
  return secret !== undefined && isManaged(secret, 'vm') ? secret : undefined;
}

/** Returns the uid of the Secret that owns an object of a VM. */
export const ownerUidOf = (object: KubernetesObject | undefined): string | undefined =>
  object?.metadata.ownerReferences?.[0]?.uid;

/** What an operator does about a VM that does not exist anymore. */
export const recreateHint = 'recreate it (bosh cloud-check, or create-env)';

export function vmNotFound(cloud: CallContext, cid: string): ProductError {
  return new ProductError(
    'VM_NOT_FOUND',
    `there is no VM '${cid}' in namespace ${cloud.namespace}; if it was made elsewhere, correct kubernetes.namespace, else ${recreateHint}`,
  );
}
