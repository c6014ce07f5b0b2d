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

/** A Service that one VM requests, and of which it becomes an owner. */
export class ManagedService {
  readonly #call: CallContext;
  readonly #request: ServiceRequest;
  readonly #owner: ServiceOwner;
  /** The Service as its first VM creates it. */
  readonly #desired: Service;

  constructor(call: CallContext, request: ServiceRequest, owner: ServiceOwner) {
    this.#call = call;
    this.#request = request;
    this.#owner = owner;
    this.#desired = serviceObject(request, owner);
  }

  /**
   * Creates the Service in the requested shape, or changes the existing one to it and adds the VM to its
   * owners. A single-VM Service stays with its VM while that VM exists: a successor (create-swap-delete) gets
   * it from delete_vm, and gets it at once if the previous VM was deleted. Idempotent; any number of VMs may
   * do this concurrently. Rejects with VM_CREATION_FAILED if the CPI does not manage the Service of that name
   * or it belongs to another instance group, with ApiError if Kubernetes refuses the Service.
   */
  async ensure(): Promise<void> {
    const { name } = this.#request;
    for (let attempts = tries; attempts > 0; attempts -= 1) {
      const ensured = await createOrGet(this.#call.api, services, this.#desired);
      if (ensured === undefined) continue;
      const existing = ensured.object;
      this.#assertSameGroup(existing);
      if (existing.metadata.deletionTimestamp === undefined) {
        if (await this.#adopt(existing)) return;
        continue;
      }
      await waitForDeletion(this.#call, {
        reference: serviceReference(this.#call, name),
        uid: existing.metadata.uid,
        deadlineSeconds: this.#call.config.deadlines.createVm,
        what: `the previous Service '${name}'`,
      });
    }
    throw conflictError('VM_CREATION_FAILED_RETRY', `Service '${name}'`);
  }

  #assertSameGroup(existing: Service): void {
    if (!isManaged(existing, 'service')) throw this.#rejected('is not managed by this CPI');
    for (const key of [label.directorId, label.group])
      if (existing.metadata.labels?.[key] !== this.#desired.metadata.labels?.[key])
        throw this.#rejected('belongs to another instance group');
  }

  #rejected(reason: string): ProductError {
    const { name } = this.#request;
    return new ProductError(
      'VM_CREATION_FAILED',
      `Service '${name}' exists in namespace ${this.#call.namespace} and ${reason}; give the Service another name`,
    );
  }

  /**
   * Changes the existing Service to the requested one, with the VM among its owners. Returns false if it has
   * changed since it was read, or is terminating; the caller then reads it again.
   */
  async #adopt(existing: Service): Promise<boolean> {
    const owners = existing.metadata.ownerReferences ?? [];
    const isOwner = owners.some(({ uid }) => uid === this.#owner.uid);
    const families = preservedFamilies(existing, this.#desired);
    const selector = await this.#readSelector(existing);
    const digest = annotation.specDigest;
    const isSame =
      existing.metadata.annotations?.[digest] === this.#desired.metadata.annotations?.[digest] &&
      selectedVm(existing) === selector[label.vmId];
    if (isSame && isOwner) return true;
    try {
      const allOwners = isOwner ? owners : [...owners, ownerReference(this.#owner)];
      const shape = { ...this.#desired, spec: { ...this.#desired.spec, ...families, selector } };
      const changed =
        isSame && owners.length > 0
          ? await this.#addOwner(existing)
          : await this.#call.api.replace(services, mergedService(existing, shape, allOwners));
      return changed.metadata.deletionTimestamp === undefined;
    } catch (error) {
      // 422: the object's uid differs from the uid in the test of the JSON patch
      if (isApiError(error, 404) || isApiError(error, 409)) return false;
      if (isSame && isApiError(error, 422)) return false;
      throw error;
    }
  }

  /** Appends the VM to the owners, so that the VMs of a group can do it concurrently without a conflict. */
  async #addOwner({ metadata: { uid } }: Service): Promise<Service> {
    const patch = [
      { op: 'test', path: '/metadata/uid', value: uid },
      { op: 'add', path: '/metadata/ownerReferences/-', value: ownerReference(this.#owner) },
    ];
    return this.#call.api.patch<Service>(serviceReference(this.#call, this.#request.name), patch, {
      type: 'application/json-patch+json',
    });
  }

  /** Returns the selector of the Service. A single-VM Service keeps its current VM while that VM exists. */
  async #readSelector(existing: Service): Promise<Record<string, string>> {
    const currentVm = selectedVm(existing);
    const desired = this.#desired.spec.selector ?? {};
    const isSingle = isSingleVm(this.#request, this.#owner);
    if (!isSingle || currentVm === undefined || currentVm === this.#owner.cid) return desired;
    const reference = existing.metadata.ownerReferences?.find(({ name }) => name === currentVm);
    if (reference === undefined || !(await ownerExists(this.#call, reference))) return desired;
    if (this.#owner.group !== undefined) return vmSelector(currentVm);
    throw new ProductError(
      'VM_CREATION_FAILED',
      `Service '${this.#request.name}' belongs to VM '${currentVm}'; delete that VM first, or give the Service another name`,
    );
  }
}

/**
 * Returns the merged Service: keeps fields that Kubernetes or other writers set; replaces the CPI's fields by
 * the requested ones.
 */
function mergedService(
  existing: Service,
  desired: Service,
  ownerReferences: Service['metadata']['ownerReferences'],
): Service {
  return {
    ...desired,
    metadata: {
      ...existing.metadata,
      labels: { ...existing.metadata.labels, ...desired.metadata.labels },
      annotations: { ...unmanagedAnnotations(existing, desired), ...desired.metadata.annotations },
      ownerReferences: ownerReferences ?? [],
    },
    spec: mergeSpec(existing.spec, desired.spec),
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
  const previous = JSON.parse(annotations[annotation.givenAnnotations] ?? '[]') as string[];
  const refused = type === 'LoadBalancer' ? [] : [sourceRanges];
  const managedKeys = new Set([...previous, annotation.givenAnnotations, ...refused]);
  return Object.fromEntries(Object.entries(annotations).filter(([key]) => !managedKeys.has(key)));
}

/**
 * Fields that cloud_properties set, or that follow from them (service-properties.ts, service-object.ts). A
 * field that no cloud_properties request any more is removed.
 */
const managedFields: ReadonlySet<string> = new Set<keyof ServiceSpec>([
  ...(['type', 'selector', 'ports', 'clusterIP', 'clusterIPs', 'externalIPs', 'loadBalancerIP'] as const),
  ...(['ipFamilies', 'ipFamilyPolicy'] as const),
]);
/**
 * Fields of load balancers only. Kubernetes never changes a class while the type stays LoadBalancer, so a
 * class that the request does not name stays, even if another program set it.
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
export function mergeSpec(existing: ServiceSpec, desired: ServiceSpec): ServiceSpec {
  const unmanaged = Object.entries(existing).filter(
    ([field]) => !managedFields.has(field) && isAllowed(field, desired),
  );
  const { clusterIP, clusterIPs, type } = existing;
  const hasOtherClusterIp = desired.clusterIP !== undefined && desired.clusterIP !== clusterIP;
  const keepsNodePorts = hasNodePorts(type) && hasNodePorts(desired.type);
  return {
    ...Object.fromEntries(unmanaged),
    ...(!hasOtherClusterIp && clusterIP !== undefined && { clusterIP }),
    ...(!hasOtherClusterIp && clusterIPs !== undefined && { clusterIPs }),
    ...desired,
    ...(desired.ports !== undefined && {
      ports: desired.ports.map((port) => mergePort(existing, desired.ports ?? [], port, keepsNodePorts)),
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
  existing: ServiceSpec,
  all: readonly ServicePort[],
  port: ServicePort,
  keepsNodePort: boolean,
): ServicePort {
  const previous = existing.ports?.find(
    ({ name, protocol }) => name === port.name && protocol === port.protocol,
  );
  if (previous === undefined) return port;
  const { nodePort, ...rest } = previous;
  const isFree = nodePort !== undefined && all.every((each) => each.nodePort !== nodePort);
  return { ...rest, ...(keepsNodePort && isFree && { nodePort }), ...port };
}

/**
 * Returns the families of the existing Service: if it has more than requested, an operator or a webhook added
 * them. Throws VM_CREATION_FAILED if the requested family is missing, because Kubernetes never changes the
 * first family of a Service.
 */
export function preservedFamilies(
  { metadata, spec: existing }: Service,
  { spec: desired }: Service,
): Families {
  const { ipFamilies, ipFamilyPolicy } = existing;
  if (ipFamilies === undefined) return {};
  const [missing] = (desired.ipFamilies ?? []).filter((family) => !ipFamilies.includes(family));
  if (missing !== undefined) {
    const { name, namespace } = metadata;
    throw new ProductError(
      'VM_CREATION_FAILED',
      `Service '${name}' in namespace ${namespace} has the family ${ipFamilies.join(', ')}, and the VM requests an address of ` +
        `${missing}. Kubernetes cannot change the family of a Service; delete it (kubectl --namespace ${namespace} delete service ${name}), and run the call again`,
    );
  }
  const isShort = desired.ipFamilyPolicy === 'RequireDualStack' && ipFamilies.length < 2;
  const policy = isShort ? desired.ipFamilyPolicy : ipFamilyPolicy;
  return { ipFamilies, ...(policy !== undefined && { ipFamilyPolicy: policy }) };
}
