import { familyOf } from '../../platform/ip-address.ts';
import type { OwnerReference, Stored } from '../../kubernetes/object.ts';
import type { Service, ServiceSpec } from '../../kubernetes/types/service.ts';
import { annotation, baseLabels, label } from '../objects/labels.ts';
import type { InstanceGroup } from '../objects/instance-group.ts';
import { labelValue, sha256, secretReference } from '../objects/names.ts';
import { toServicePorts, type ServiceRequest } from './service-properties.ts';
import { ignoreNotFound, type ObjectReference } from '../../kubernetes/api.ts';
import { services } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';

/** The VM that requests a Service. */
export interface ServiceOwner extends InstanceGroup {
  readonly cid: string;
  readonly namespace: string;
  /** The uid of its Secret. */
  readonly uid: string;
  readonly directorUuid: string | undefined;
}

/** True for a Service of one VM at a time, which its successor gets. */
export const isSingleVm = ({ selector }: ServiceRequest, { group }: Pick<ServiceOwner, 'group'>): boolean =>
  selector === 'vm' ||
  (selector === undefined && group === undefined) ||
  (selector === 'group' && group === undefined);

export const ownerReference = ({ cid, uid }: Pick<ServiceOwner, 'cid' | 'uid'>): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'Secret',
  name: cid,
  uid,
});

/** Returns the Service as its first VM creates it, owned by that VM's Secret. */
export function serviceObject(request: ServiceRequest, owner: ServiceOwner): Service {
  const spec = serviceSpec(request);
  const given = Object.keys(request.annotations);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: request.name,
      namespace: owner.namespace,
      labels: {
        ...baseLabels(owner, 'service'),
        ...(owner.group !== undefined && { [label.group]: labelValue(owner.group) }),
        ...owner.groupLabels,
      },
      annotations: {
        ...request.annotations,
        ...(given.length > 0 && { [annotation.givenAnnotations]: JSON.stringify(given) }),
        // the digest does not cover the IP families, because they follow from the addresses
        [annotation.specDigest]: sha256(JSON.stringify([spec, request.annotations, request.selector])),
      },
      ownerReferences: [ownerReference(owner)],
    },
    spec: { ...spec, ...requestedFamilies(request), selector: selectorOf(request, owner) },
  };
}

function selectorOf(request: ServiceRequest, owner: ServiceOwner): Record<string, string> {
  if (isSingleVm(request, owner)) return vmSelector(owner.cid);
  if (typeof request.selector === 'object') return { ...request.selector };
  return { [label.kind]: 'vm', [label.group]: labelValue(owner.group ?? '') };
}

function serviceSpec(request: ServiceRequest): ServiceSpec {
  const { type, clusterIp, ports, loadBalancerIp, loadBalancerClass, externalIps } = request;
  return {
    type,
    ...(clusterIp !== undefined && { clusterIP: clusterIp }),
    ports: toServicePorts(ports),
    ...(loadBalancerIp !== undefined && { loadBalancerIP: loadBalancerIp }),
    ...(loadBalancerClass !== undefined && { loadBalancerClass }),
    ...(externalIps.length > 0 && { externalIPs: [...externalIps] }),
  };
}

export const serviceReference = (call: CallContext, name: string): ObjectReference => ({
  resource: services,
  namespace: call.namespace,
  name,
});

/** Reads a Service; undefined if none has that name. */
export async function findService(call: CallContext, name: string): Promise<Stored<Service> | undefined> {
  return ignoreNotFound(call.api.get<Service>(serviceReference(call, name)));
}

/** Returns whether the VM of an owner reference is active: its Secret has that uid and is not terminating. */
export async function ownerExists(call: CallContext, { name, uid }: OwnerReference): Promise<boolean> {
  try {
    const { metadata } = await call.api.get(secretReference(call, name));
    return metadata.uid === uid && metadata.deletionTimestamp === undefined;
  } catch (error) {
    if (isApiError(error, 404)) return false;
    throw error;
  }
}

/**
 * Returns the selector for the pod of that VM; attachment pods carry its label too, so the kind is part of
 * it.
 */
export const vmSelector = (cid: string): Record<string, string> => ({
  [label.kind]: 'vm',
  [label.vmId]: cid,
});

/** Returns the VM to which a single-VM Service sends traffic; undefined for a shared one. */
export const selectedVm = ({ spec }: Service): string | undefined => spec.selector?.[label.vmId];

export type Families = Pick<ServiceSpec, 'ipFamilies' | 'ipFamilyPolicy'>;

/**
 * Returns the IP families for the requested addresses. A Service forwards no address of another family, and
 * without this field Kubernetes uses the cluster's first family only. With both families the cluster chooses
 * the order.
 */
export function requestedFamilies({ clusterIp, loadBalancerIp, externalIps }: ServiceRequest): Families {
  const addresses = [clusterIp, loadBalancerIp, ...externalIps];
  const families = new Set(addresses.flatMap((address) => familyOf(address ?? '') ?? []));
  if (families.size === 2) return { ipFamilyPolicy: 'RequireDualStack' };
  return families.size === 0 ? {} : { ipFamilies: [...families], ipFamilyPolicy: 'SingleStack' };
}
