import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service } from '../../kubernetes/service.ts';
import type { CallContext } from '../cloud.ts';
import { annotation, label } from '../labels.ts';
import { mergeSpec } from './carried-spec.ts';
import { preservedFamilies } from './families.ts';
import { serviceReference } from './find-service.ts';
import { ownerExists } from './living-owner.ts';
import { selectedVm, vmSelector } from './service-holder.ts';
import type { ServiceOwnerRef } from './service-object.ts';
import { isSingleVm, ownerReference } from './service-object.ts';
import type { ServiceRequest } from './service-request.ts';

/** The Service that a VM requests. */
export interface DesiredService {
  readonly wanted: Service;
  readonly request: ServiceRequest;
  readonly owner: ServiceOwnerRef;
}

/**
 * Changes the existing Service to the one that a VM requests, with the VM among its owners. Returns false if
 * it has changed since it was read, or is terminating; read it again then.
 */
export async function adoptService(
  cloud: CallContext,
  found: Service,
  desired: DesiredService,
): Promise<boolean> {
  const { wanted, owner } = desired;
  const owners = found.metadata.ownerReferences ?? [];
  const isOwner = owners.some(({ uid }) => uid === owner.uid);
  const families = preservedFamilies(found, wanted);
  const selector = await selectorFor(cloud, found, desired);
  const digest = annotation.specDigest;
  const isSame =
    found.metadata.annotations?.[digest] === wanted.metadata.annotations?.[digest] &&
    selectedVm(found) === selector[label.vmId];
  if (isSame && isOwner) return true;
  try {
    const all = isOwner ? owners : [...owners, ownerReference(owner)];
    const shape = { ...wanted, spec: { ...wanted.spec, ...families, selector } };
    const now =
      isSame && owners.length > 0
        ? await addOwner(cloud, found, owner)
        : await cloud.api.replace(services, mergedService(found, shape, all));
    return now.metadata.deletionTimestamp === undefined;
  } catch (error) {
    // 422: the object has another uid than the one that the JSON patch tests for
    if (isApiError(error, 404) || isApiError(error, 409)) return false;
    if (isSame && isApiError(error, 422)) return false;
    throw error;
  }
}

/** Appends an owner, so that the VMs of a group can do it concurrently without a conflict. */
async function addOwner(
  cloud: CallContext,
  { metadata: { name = '', uid } }: Service,
  owner: ServiceOwnerRef,
): Promise<Service> {
  const patch = [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'add', path: '/metadata/ownerReferences/-', value: ownerReference(owner) },
  ];
  return cloud.api.patch<Service>(serviceReference(cloud, name), patch, {
    type: 'application/json-patch+json',
  });
}

/**
 * Returns the merged Service: keeps fields that Kubernetes or other writers set; replaces the CPI's fields by
 * the requested ones.
 */
function mergedService(
  found: Service,
  wanted: Service,
  ownerReferences: Service['metadata']['ownerReferences'],
): Service {
  return {
    ...wanted,
    metadata: {
      ...found.metadata,
      labels: { ...found.metadata.labels, ...wanted.metadata.labels },
      annotations: { ...unmanagedAnnotations(found, wanted), ...wanted.metadata.annotations },
      ownerReferences: ownerReferences ?? [],
    },
    spec: mergeSpec(found.spec, wanted.spec),
  };
}

/**
 * Kubernetes refuses the annotation with every other type, like the field of that meaning (kubernetes
 * pkg/apis/core/validation validateService).
 */
const sourceRanges = 'service.beta.kubernetes.io/load-balancer-source-ranges';

/**
 * Returns the annotations that the CPI does not manage: a load balancer writes annotations too, so only those
 * that an earlier call set are removed.
 */
function unmanagedAnnotations(
  { metadata: { annotations = {} } }: Service,
  { spec: { type } }: Service,
): Record<string, string> {
  const given = JSON.parse(annotations[annotation.givenAnnotations] ?? '[]') as string[];
  const refused = type === 'LoadBalancer' ? [] : [sourceRanges];
  const managedKeys = new Set([...given, annotation.givenAnnotations, ...refused]);
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !managedKeys.has(key)));
}

/** Returns the selector of the Service. A single-VM Service keeps its current VM while that VM exists. */
async function selectorFor(
  cloud: CallContext,
  found: Service,
  { wanted, request, owner }: DesiredService,
): Promise<Record<string, string>> {
  const holder = selectedVm(found);
  const own = wanted.spec.selector ?? {};
  if (!isSingleVm(request, owner) || holder === undefined || holder === owner.cid) return own;
  const reference = found.metadata.ownerReferences?.find(({ name }) => name === holder);
  if (reference === undefined || !(await ownerExists(cloud, reference))) return own;
  if (owner.group !== undefined) return vmSelector(holder);
  throw new ProductError(
    'VM_CREATION_FAILED',
    `Service '${request.name}' is that of VM '${holder}'; delete that VM first, or give the Service another name`,
  );
}
