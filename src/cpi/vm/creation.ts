import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { conflictError } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import { annotation } from '../objects/labels.ts';
import { findVmSecret, type VmSecret } from './vms.ts';
import { secretReference } from '../objects/names.ts';

/** How the creation of a VM ended, as recorded in its Secret (`annotation.creation`). */
export type Creation = 'done' | 'abandoned';

const tries = 5;

/**
 * Returns the recorded end of the creation. Undefined while a create_vm is running or after it was killed,
 * and for a VM of a CPI that did not record it.
 */
export function creationOf({ metadata }: KubernetesObject): Creation | undefined {
  const value = metadata.annotations?.[annotation.creation];
  return value === 'done' || value === 'abandoned' ? value : undefined;
}

/**
 * Records in the Secret that the VM is complete, so a caller may know it. This is the last write of
 * create_vm. Sends no request if this is recorded already. Rejects with VM_CREATION_FAILED_RETRY if another
 * call has abandoned or deleted that VM. If another VM has the same name by then, that VM is not changed.
 * Model: create-vm.pml
 */
export async function markCreated(call: CallContext, secret: VmSecret): Promise<void> {
  const { name, uid } = secret.metadata;
  let current = secret;
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    if (creationOf(current) === 'done') return;
    const error = await write(call, current, 'done');
    if (error === undefined) return;
    // a write whose response was lost may have been done
    const existing = await findVmSecret(call, name);
    if (existing === undefined || existing.metadata.uid !== uid) throw removedMeanwhile();
    if (existing.metadata.deletionTimestamp !== undefined || creationOf(existing) === 'abandoned')
      throw removedMeanwhile();
    if (creationOf(existing) !== 'done' && !isApiError(error, 409)) throw error;
    current = existing;
  }
  throw conflictError('VM_CREATION_FAILED_RETRY', `Secret '${name}'`);
}

const removedMeanwhile = (): ProductError =>
  new ProductError(
    'VM_CREATION_FAILED_RETRY',
    'another call has removed it before it was complete; run the call again',
  );

/**
 * Marks an unfinished VM as abandoned, so that its create_vm fails from then on. Writes only if the Secret is
 * still exactly the one that was read: a completion mark or a disk that was added since is a change. Returns
 * false if it has changed; then nothing was written.
 */
export async function abandon(call: CallContext, secret: VmSecret): Promise<boolean> {
  if (creationOf(secret) === 'abandoned') return true;
  const error = await write(call, secret, 'abandoned');
  if (error === undefined) return true;
  if (isApiError(error, 404) || isApiError(error, 409)) return false;
  throw error;
}

/** Undoes `abandon`. Does nothing if the VM of that Secret does not exist anymore. */
export async function resume(call: CallContext, { metadata: { name, uid } }: VmSecret): Promise<void> {
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    const existing = await findVmSecret(call, name);
    if (existing === undefined || existing.metadata.uid !== uid || creationOf(existing) !== 'abandoned')
      return;
    const error = await write(call, existing, null);
    if (error === undefined) return;
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
  throw conflictError('VM_CREATION_FAILED_RETRY', `Secret '${name}'`);
}

/** Writes the annotation on exactly the version that was read. Returns the error, if there is one. */
async function write(
  call: CallContext,
  { metadata }: VmSecret,
  creation: Creation | null,
): Promise<Error | undefined> {
  const { name, resourceVersion } = metadata;
  const patch = { metadata: { resourceVersion, annotations: { [annotation.creation]: creation } } };
  try {
    await call.api.patch(secretReference(call, name), patch);
    return undefined;
  } catch (error) {
    if (error instanceof Error) return error;
    throw error;
  }
}
