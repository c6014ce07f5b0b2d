import type { KubernetesObject, OwnerReference, Stored } from '../../kubernetes/object.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/types/service.ts';
import { ignoreConflict } from '../../kubernetes/api.ts';
import { conflictError, waitForDeletion } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import { annotation, isManaged } from '../objects/labels.ts';
import { findService, serviceReference, ownerExists, selectedVm, vmSelector } from './service-object.ts';

const tries = 10;

/** The Services to wait for after the VM's own objects were deleted. */
export type DeletedServices = readonly { readonly name: string; readonly uid: string }[];

/** Returns the names of the Services that a VM belongs to, as recorded in its Secret. */
export function serviceNames(secret: KubernetesObject): string[] {
  const text = secret.metadata.annotations?.[annotation.services];
  return text === undefined ? [] : (JSON.parse(text) as string[]);
}

/**
 * Removes a VM from its Services before its Secret is deleted. Deletes a Service without other active owners.
 * Points a single-VM Service to its newest other owner. Does not change a group Service that has other
 * owners: the garbage collector removes the owner. After an interruption the next call finds the Secret still
 * there and continues.
 */
export async function releaseServices(call: CallContext, secret: KubernetesObject): Promise<DeletedServices> {
  const pending = await Promise.all(serviceNames(secret).map((name) => releaseService(call, name, secret)));
  return pending.flat();
}

/**
 * Waits until the released Services are deleted: a load balancer may have to be removed. Rejects with
 * DEADLINE.
 */
export async function waitForServiceDeletion(call: CallContext, pending: DeletedServices): Promise<void> {
  const deadlineSeconds = call.config.deadlines.deleteVm;
  await Promise.all(
    pending.map(({ name, uid }) =>
      waitForDeletion(call, {
        reference: serviceReference(call, name),
        uid,
        deadlineSeconds,
        what: `Service '${name}'`,
      }),
    ),
  );
}

async function releaseService(
  call: CallContext,
  name: string,
  secret: KubernetesObject,
): Promise<DeletedServices> {
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    const service = await findService(call, name);
    if (service === undefined || !isManaged(service, 'service')) return [];
    const { uid, deletionTimestamp } = service.metadata;
    if (!isOwner(service, secret)) return [];
    if (deletionTimestamp !== undefined) return [{ name, uid }];
    const outcome = await ignoreConflict(releaseIfUnchanged(call, service, secret));
    if (outcome !== undefined) return outcome;
  }
  throw conflictError('DEADLINE', `Service '${name}'`);
}

/**
 * Releases a Service in exactly the state that was read: a VM that joins at the same time causes a conflict,
 * and counts when the Service is read again.
 */
async function releaseIfUnchanged(
  call: CallContext,
  service: Stored<Service>,
  secret: KubernetesObject,
): Promise<DeletedServices> {
  const { name, uid, resourceVersion, ownerReferences = [] } = service.metadata;
  const others = ownerReferences.filter((owner) => owner.uid !== secret.metadata.uid);
  const isHeld = selectedVm(service) === secret.metadata.name;
  if (!isHeld && others.length > 0) return [];
  const successor = await findNewestActiveOwner(call, others);
  if (successor === undefined) {
    await call.api.delete(serviceReference(call, name), { preconditions: { uid, resourceVersion } });
    return [{ name, uid }];
  }
  const { metadata, spec } = service;
  await call.api.replace<Service>(services, {
    ...service,
    metadata: { ...metadata, ownerReferences: others },
    spec: { ...spec, selector: vmSelector(successor.name) },
  });
  return [];
}

async function findNewestActiveOwner(
  call: CallContext,
  owners: readonly OwnerReference[],
): Promise<OwnerReference | undefined> {
  for (const owner of owners.toReversed()) if (await ownerExists(call, owner)) return owner;
  return undefined;
}

const isOwner = ({ metadata }: Service, secret: KubernetesObject): boolean =>
  metadata.ownerReferences?.some(({ uid }) => uid === secret.metadata.uid) === true;
