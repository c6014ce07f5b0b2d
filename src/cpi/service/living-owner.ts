import { isApiError } from '../../kubernetes/api-error.ts';
import type { OwnerReference } from '../../kubernetes/object.ts';
import type { CallContext } from '../cloud.ts';
import { secretReference } from '../vm/find-vm.ts';

/** True while the VM of an owner reference is there to stay: its Secret is, with that uid. */
export async function ownerExists(cloud: CallContext, { name, uid }: OwnerReference): Promise<boolean> {
  try {
    const { metadata } = await cloud.api.get(secretReference(cloud, name));
    return metadata.uid === uid && metadata.deletionTimestamp === undefined;
  } catch (error) {
    if (isApiError(error, 404)) return false;
    throw error;
  }
}
