import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/service.ts';
import type { Cloud } from '../cloud.ts';
import { annotation, isOurs, label } from '../labels.ts';
import { waitUntilGone } from '../remove-object.ts';
import { isLivingOwner } from './living-owner.ts';
import type { ServiceOwner } from './service-object.ts';
import { holderOf, isOfOneVm, ownerReference, serviceObject, vmSelector } from './service-object.ts';
import type { ServiceRequest } from './service-request.ts';

const tries = 10;

export const serviceReference = (cloud: Cloud, name: string): ObjectReference => ({
  resource: services,
  namespace: cloud.namespace,
  name,
});

/**
 * Makes a Service, or makes the VM one of the owners of the one that is there, in the shape that is asked for now.
 * A Service of one VM stays with that VM while it lives: a successor (create-swap-delete) inherits it from delete_vm,
 * and takes it at once where the former VM is gone. Idempotent; any number of VMs may do this at once.
 * Rejects with VM_CREATION_FAILED where the name is somebody else's, with ApiError where Kubernetes refuses it.
 */
export async function ensureService(
  cloud: Cloud,
  request: ServiceRequest,
  owner: ServiceOwner,
): Promise<void> {
  const wanted = serviceObject(request, owner);
  for (let left = tries; left > 0; left -= 1) {
    const found = await createOrFind(cloud, wanted);
    if (found === undefined) continue;
    requireSameOwners(cloud, found, wanted);
    if (found.metadata.deletionTimestamp === undefined) {
      if (await adopt(cloud, found, { wanted, request, owner })) return;
      continue;
    }
    await waitUntilGone(cloud, {
      reference: serviceReference(cloud, request.name),
      uid: found.metadata.uid ?? '',
      deadlineSeconds: cloud.config.deadlines.deleteVm,
      what: `the former Service '${request.name}'`,
    });
  }
  throw new ProductError(
    'VM_CREATION_FAILED_RETRY',
    `Service '${request.name}' is changed by others again and again`,
  );
}

/**
 * The Service that was made, or that is there. A fixed address or port that the one of this name has is refused before
 * its name is looked at (kubernetes pkg/registry/core/service/storage: allocation comes first), so a refusal asks too.
 */
async function createOrFind(cloud: Cloud, wanted: Service): Promise<Service | undefined> {
  try {
    return await cloud.api.create<Service>(services, wanted);
  } catch (error) {
    const isTaken = isApiError(error, 409, 'AlreadyExists');
    if (!isTaken && !isApiError(error, 422)) throw error;
    const found = await find(cloud, wanted.metadata.name ?? '');
    if (found === undefined && !isTaken) throw error;
    return found;
  }
}

export async function find(cloud: Cloud, name: string): Promise<Service | undefined> {
  try {
    return await cloud.api.get<Service>(serviceReference(cloud, name));
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}

function requireSameOwners(cloud: Cloud, found: Service, wanted: Service): void {
  const name = wanted.metadata.name ?? '';
  const refuse = (whose: string): never => {
    throw new ProductError(
      'VM_CREATION_FAILED',
      `Service '${name}' exists in namespace ${cloud.namespace} and is ${whose}; give the Service another name`,
    );
  };
  if (!isOurs(found, 'service')) refuse('not of this CPI');
  for (const key of [label.directorId, label.group]) {
    if (found.metadata.labels?.[key] !== wanted.metadata.labels?.[key]) refuse('of another instance group');
  }
}

interface Wish {
  readonly wanted: Service;
  readonly request: ServiceRequest;
  readonly owner: ServiceOwner;
}

/** False where it has changed since it was read. */
async function adopt(cloud: Cloud, found: Service, wish: Wish): Promise<boolean> {
  const { wanted, owner } = wish;
  const owners = found.metadata.ownerReferences ?? [];
  const isOwner = owners.some(({ uid }) => uid === owner.uid);
  const selector = await selectorFor(cloud, found, wish);
  const digest = annotation.specDigest;
  const isSame =
    found.metadata.annotations?.[digest] === wanted.metadata.annotations?.[digest] &&
    holderOf(found) === selector[label.vmId];
  if (isSame && isOwner) return true;
  try {
    if (isSame && owners.length > 0) await addOwner(cloud, found, owner);
    else {
      const all = isOwner ? owners : [...owners, ownerReference(owner)];
      await cloud.api.replace(
        services,
        reshaped(found, { ...wanted, spec: { ...wanted.spec, selector } }, all),
      );
    }
    return true;
  } catch (error) {
    // 422: the object that a JSON patch tests for is another one by now
    if (isApiError(error, 404) || isApiError(error, 409)) return false;
    if (isSame && isApiError(error, 422)) return false;
    throw error;
  }
}

/** Appends, so that a group's VMs can do it at once without a conflict. */
async function addOwner(
  cloud: Cloud,
  { metadata: { name = '', uid } }: Service,
  owner: ServiceOwner,
): Promise<void> {
  const patch = [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'add', path: '/metadata/ownerReferences/-', value: ownerReference(owner) },
  ];
  await cloud.api.patch(serviceReference(cloud, name), patch, { type: 'application/json-patch+json' });
}

/** What Kubernetes has given stays; the rest is what is asked for now. */
function reshaped(
  found: Service,
  wanted: Service,
  ownerReferences: Service['metadata']['ownerReferences'],
): Service {
  const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy } = found.spec;
  const isFixed = wanted.spec.clusterIP !== undefined;
  return {
    ...wanted,
    metadata: {
      ...found.metadata,
      labels: { ...found.metadata.labels, ...wanted.metadata.labels },
      annotations: { ...wanted.metadata.annotations },
      ownerReferences: ownerReferences ?? [],
    },
    spec: {
      ...(ipFamilies !== undefined && { ipFamilies }),
      ...(ipFamilyPolicy !== undefined && { ipFamilyPolicy }),
      ...(!isFixed && clusterIP !== undefined && { clusterIP }),
      ...(!isFixed && clusterIPs !== undefined && { clusterIPs }),
      ...wanted.spec,
    },
  };
}

async function selectorFor(
  cloud: Cloud,
  found: Service,
  { wanted, request, owner }: Wish,
): Promise<Record<string, string>> {
  const holder = holderOf(found);
  const own = wanted.spec.selector ?? {};
  if (!isOfOneVm(request, owner) || holder === undefined || holder === owner.cid) return own;
  const reference = found.metadata.ownerReferences?.find(({ name }) => name === holder);
  if (reference === undefined || !(await isLivingOwner(cloud, reference))) return own;
  if (owner.group !== undefined) return vmSelector(holder);
  throw new ProductError(
    'VM_CREATION_FAILED',
    `Service '${request.name}' is that of VM '${holder}'; delete that VM first, or give the Service another name`,
  );
}
