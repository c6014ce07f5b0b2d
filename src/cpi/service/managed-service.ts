import {
  type Families,
  serviceReference,
  type ServiceOwner,
  serviceObject,
  ownerExists,
  selectedVm,
  vmSelector,
  isSingleVm,
  ownerReference,
} from './service-object.ts';
import { ProductError } from '../../errors/product-error.ts';
import { services } from '../../kubernetes/resources.ts';
import type { Service, ServicePort, ServiceSpec } from '../../kubernetes/types/service.ts';
import { conflictError, createOrGet, waitForDeletion } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import { isManaged, label, annotation } from '../objects/labels.ts';
import type { ServiceRequest } from './service-properties.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';

const tries = 10;

/**
 * Creates a Service in the requested shape, or changes the existing one to it and adds the VM to its owners.
 * A single-VM Service stays with its VM while that VM exists: a successor (create-swap-delete) gets it from
 * delete_vm, and takes it at once if the previous VM was deleted. Idempotent; any number of VMs may do this
 * concurrently. Rejects with VM_CREATION_FAILED if the CPI does not manage the Service of that name or it
 * belongs to another instance group, with ApiError if Kubernetes refuses the Service.
 */
export async function ensureService(
  call: CallContext,
  request: ServiceRequest,
  owner: ServiceOwner,
): Promise<void> {
  const wanted = serviceObject(request, owner);
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    const ensured = await createOrGet(call.api, services, wanted);
    if (ensured === undefined) continue;
    const found = ensured.object;
    requireSameOwners(call, found, wanted);
    if (found.metadata.deletionTimestamp === undefined) {
      if (await adoptService(call, found, { wanted, request, owner })) return;
      continue;
    }
    await waitForDeletion(call, {
      reference: serviceReference(call, request.name),
      uid: found.metadata.uid ?? '',
      deadlineSeconds: call.config.deadlines.createVm,
      what: `the former Service '${request.name}'`,
    });
  }
  throw conflictError('VM_CREATION_FAILED_RETRY', `Service '${request.name}'`);
}

function requireSameOwners(call: CallContext, found: Service, wanted: Service): void {
  const name = wanted.metadata.name ?? '';
  const refuse = (whose: string): never => {
    throw new ProductError(
      'VM_CREATION_FAILED',
      `Service '${name}' exists in namespace ${call.namespace} and is ${whose}; give the Service another name`,
    );
  };
  if (!isManaged(found, 'service')) refuse('not of this CPI');
  for (const key of [label.directorId, label.group]) {
    if (found.metadata.labels?.[key] !== wanted.metadata.labels?.[key]) refuse('of another instance group');
  }
}

/** The Service that a VM requests. */
export interface DesiredService {
  readonly wanted: Service;
  readonly request: ServiceRequest;
  readonly owner: ServiceOwner;
}

/**
 * Changes the existing Service to the one that a VM requests, with the VM among its owners. Returns false if
 * it has changed since it was read, or is terminating; read it again then.
 */
export async function adoptService(
  call: CallContext,
  found: Service,
  desired: DesiredService,
): Promise<boolean> {
  const { wanted, owner } = desired;
  const owners = found.metadata.ownerReferences ?? [];
  const isOwner = owners.some(({ uid }) => uid === owner.uid);
  const families = preservedFamilies(found, wanted);
  const selector = await selectorFor(call, found, desired);
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
        ? await addOwner(call, found, owner)
        : await call.api.replace(services, mergedService(found, shape, all));
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
  call: CallContext,
  { metadata: { name = '', uid } }: Service,
  owner: ServiceOwner,
): Promise<Service> {
  const patch = [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'add', path: '/metadata/ownerReferences/-', value: ownerReference(owner) },
  ];
  return call.api.patch<Service>(serviceReference(call, name), patch, {
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
  call: CallContext,
  found: Service,
  { wanted, request, owner }: DesiredService,
): Promise<Record<string, string>> {
  const holder = selectedVm(found);
  const own = wanted.spec.selector ?? {};
  if (!isSingleVm(request, owner) || holder === undefined || holder === owner.cid) return own;
  const reference = found.metadata.ownerReferences?.find(({ name }) => name === holder);
  if (reference === undefined || !(await ownerExists(call, reference))) return own;
  if (owner.group !== undefined) return vmSelector(holder);
  throw new ProductError(
    'VM_CREATION_FAILED',
    `Service '${request.name}' is that of VM '${holder}'; delete that VM first, or give the Service another name`,
  );
}

/**
 * Fields that cloud_properties set, or that follow from them (service-properties.ts, service-object.ts). One that is
 * not requested anymore is removed.
 */
const managedFields: ReadonlySet<string> = new Set<keyof ServiceSpec>([
  ...(['type', 'selector', 'ports', 'clusterIP', 'clusterIPs', 'externalIPs', 'loadBalancerIP'] as const),
  ...(['ipFamilies', 'ipFamilyPolicy'] as const),
]);
/**
 * Fields of load balancers only. Kubernetes never changes a class while the type stays LoadBalancer, so a
 * class that the request does not name stays, whatever set it.
 */
const loadBalancerFields: ReadonlySet<string> = new Set<keyof ServiceSpec>([
  ...(['allocateLoadBalancerNodePorts', 'loadBalancerClass', 'loadBalancerSourceRanges'] as const),
  'healthCheckNodePort',
]);

/**
 * Returns the requested spec merged over the existing one. Fields that cloud_properties cannot set belong to
 * a webhook or an operator and stay, except for those that Kubernetes refuses with the requested type
 * (kubernetes pkg/apis/core/validation validateService; pkg/registry/core/service strategy.go
 * dropTypeDependentFields, storage.go patchAllocatedValues).
 */
export function mergeSpec(found: ServiceSpec, wanted: ServiceSpec): ServiceSpec {
  const foreign = Object.entries(found).filter(
    ([field]) => !managedFields.has(field) && isAllowed(field, wanted),
  );
  const { clusterIP, clusterIPs, type } = found;
  const isDifferentPort = wanted.clusterIP !== undefined && wanted.clusterIP !== clusterIP;
  const keepsNodePorts = hasNodePorts(type) && hasNodePorts(wanted.type);
  return {
    ...Object.fromEntries(foreign),
    ...(!isDifferentPort && clusterIP !== undefined && { clusterIP }),
    ...(!isDifferentPort && clusterIPs !== undefined && { clusterIPs }),
    ...wanted,
    ...(wanted.ports !== undefined && {
      ports: wanted.ports.map((port) => mergePort(found, wanted.ports ?? [], port, keepsNodePorts)),
    }),
  };
}

function isAllowed(field: string, { type, externalIPs = [] }: ServiceSpec): boolean {
  if (field === 'externalName') return false;
  if (field === 'externalTrafficPolicy') return hasNodePorts(type) || externalIPs.length > 0;
  return type === 'LoadBalancer' || !loadBalancerFields.has(field);
}

const hasNodePorts = (type: ServiceSpec['type']): boolean => type === 'NodePort' || type === 'LoadBalancer';

/**
 * Merges a port into the existing one of that name, as Kubernetes does, and of that protocol, because two
 * protocols may share a node port.
 */
function mergePort(
  found: ServiceSpec,
  all: readonly ServicePort[],
  port: ServicePort,
  keepsNodePort: boolean,
): ServicePort {
  const former = found.ports?.find(({ name, protocol }) => name === port.name && protocol === port.protocol);
  if (former === undefined) return port;
  const { nodePort, ...rest } = former;
  const isFree = nodePort !== undefined && all.every((other) => other.nodePort !== nodePort);
  return { ...rest, ...(keepsNodePort && isFree && { nodePort }), ...port };
}

/**
 * Returns the families of the existing Service: if it has more than requested, an operator or a webhook added
 * them. Throws VM_CREATION_FAILED if the requested family is missing, because Kubernetes never changes the
 * first family of a Service.
 */
export function preservedFamilies({ metadata, spec: found }: Service, { spec: asked }: Service): Families {
  const { ipFamilies, ipFamilyPolicy } = found;
  if (ipFamilies === undefined) return {};
  const [missing] = (asked.ipFamilies ?? []).filter((family) => !ipFamilies.includes(family));
  if (missing !== undefined) {
    const { name = '', namespace = '' } = metadata;
    throw new ProductError(
      'VM_CREATION_FAILED',
      `Service '${name}' in namespace ${namespace} is of the family ${ipFamilies.join(', ')}, and an address of ${missing} is ` +
        `asked for, which Kubernetes cannot change; delete it (kubectl --namespace ${namespace} delete service ${name}), and run the call again`,
    );
  }
  const isShort = asked.ipFamilyPolicy === 'RequireDualStack' && ipFamilies.length < 2;
  const policy = isShort ? asked.ipFamilyPolicy : ipFamilyPolicy;
  return { ipFamilies, ...(policy !== undefined && { ipFamilyPolicy: policy }) };
}
