import { ProductError } from '../../errors/product-error.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/service.ts';
import { conflictError } from '../changed-by-others.ts';
import type { CallContext } from '../cloud.ts';
import { createOrGet } from '../create-unless-there.ts';
import { isManaged, label } from '../labels.ts';
import { waitForDeletion } from '../remove-object.ts';
import { adoptService } from './adopt-service.ts';
import { serviceReference } from './find-service.ts';
import type { ServiceOwnerRef } from './service-object.ts';
import { serviceObject } from './service-object.ts';
import type { ServiceRequest } from './service-request.ts';

const tries = 10;

/**
 * Creates a Service in the requested shape, or changes the existing one to it and adds the VM to its owners.
 * A single-VM Service stays with its VM while that VM exists: a successor (create-swap-delete) gets it from
 * delete_vm, and takes it at once if the previous VM was deleted. Idempotent; any number of VMs may do this
 * concurrently. Rejects with VM_CREATION_FAILED if the CPI does not manage the Service of that name or it
 * belongs to another instance group, with ApiError if Kubernetes refuses the Service.
 */
export async function ensureService(
  cloud: CallContext,
  request: ServiceRequest,
  owner: ServiceOwnerRef,
): Promise<void> {
  const wanted = serviceObject(request, owner);
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    const ensured = await createOrGet(cloud.api, services, wanted);
    if (ensured === undefined) continue;
    const found = ensured.object;
    requireSameOwners(cloud, found, wanted);
    if (found.metadata.deletionTimestamp === undefined) {
      if (await adoptService(cloud, found, { wanted, request, owner })) return;
      continue;
    }
    await waitForDeletion(cloud, {
      reference: serviceReference(cloud, request.name),
      uid: found.metadata.uid ?? '',
      deadlineSeconds: cloud.config.deadlines.createVm,
      what: `the former Service '${request.name}'`,
    });
  }
  throw conflictError('VM_CREATION_FAILED_RETRY', `Service '${request.name}'`);
}

function requireSameOwners(cloud: CallContext, found: Service, wanted: Service): void {
  const name = wanted.metadata.name ?? '';
  const refuse = (whose: string): never => {
    throw new ProductError(
      'VM_CREATION_FAILED',
      `Service '${name}' exists in namespace ${cloud.namespace} and is ${whose}; give the Service another name`,
    );
  };
  if (!isManaged(found, 'service')) refuse('not of this CPI');
  for (const key of [label.directorId, label.group]) {
    if (found.metadata.labels?.[key] !== wanted.metadata.labels?.[key]) refuse('of another instance group');
  }
}
