import type { OwnerReference } from '../../kubernetes/object.ts';
import type { Service, ServiceSpec } from '../../kubernetes/service.ts';
import { annotation, baseLabels, label } from '../labels.ts';
import { labelValue } from '../names.ts';
import { sha256 } from '../sha256.ts';
import { requestedFamilies } from './families.ts';
import { vmSelector } from './service-holder.ts';
import { toServicePorts } from './service-ports.ts';
import type { ServiceRequest } from './service-request.ts';
import type { InstanceGroup } from '../vm/instance-group.ts';

/** The VM that requests a Service. */
export interface ServiceOwnerRef extends InstanceGroup {
  readonly cid: string;
  readonly namespace: string;
  /** The uid of its Secret. */
  readonly uid: string;
  readonly directorUuid: string | undefined;
}

/** True for a Service of one VM at a time, which its successor gets. */
export const isSingleVm = (
  { selector }: ServiceRequest,
  { group }: Pick<ServiceOwnerRef, 'group'>,
): boolean =>
  selector === 'vm' ||
  (selector === undefined && group === undefined) ||
  (selector === 'group' && group === undefined);

export const ownerReference = ({ cid, uid }: Pick<ServiceOwnerRef, 'cid' | 'uid'>): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'Secret',
  name: cid,
  uid,
});

/** Returns the Service as its first VM creates it, owned by that VM's Secret. */
export function serviceObject(request: ServiceRequest, owner: ServiceOwnerRef): Service {
  const spec = serviceSpec(request);
  const given = Object.keys(request.annotations);
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: request.name,
      namespace: owner.namespace,
      labels: {
        ...baseLabels('service', owner.directorUuid),
        ...(owner.group !== undefined && { [label.group]: labelValue(owner.group) }),
        ...owner.groupLabels,
      },
      annotations: {
        ...request.annotations,
        ...(given.length > 0 && { [annotation.givenAnnotations]: JSON.stringify(given) }),
        // without the families: they follow from the addresses
        [annotation.specDigest]: sha256(JSON.stringify([spec, request.annotations, request.selector])),
      },
      ownerReferences: [ownerReference(owner)],
    },
    spec: { ...spec, ...requestedFamilies(request), selector: selectorOf(request, owner) },
  };
}

function selectorOf(request: ServiceRequest, owner: ServiceOwnerRef): Record<string, string> {
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
