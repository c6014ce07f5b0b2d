import { isApiError } from '../../kubernetes/api-error.ts';
import type { OwnerReference } from '../../kubernetes/object.ts';
import type { CallContext } from '../cloud.ts';
import { secretReference } from '../vm/find-vm.ts';

/** Returns whether the VM of an owner reference is active: its Secret has that uid and is not terminating. */
export async function ownerExists(cloud: CallContext, { name, uid }: OwnerReference): Promise<boolean> {
  try {
    const { metadata } = await cloud.api.get(secretReference(cloud, name));
    return metadata.uid === uid && metadata.deletionTimestamp === undefined;
  } catch (error) {
    if (isApiError(error, 404)) return false;
    throw error;
  }
}
