import { ProductError } from '../../errors/product-error.ts';
import { familyOf } from '../../kubernetes/ip-text.ts';
import type { Service, ServiceSpec } from '../../kubernetes/service.ts';
import type { ServiceRequest } from './service-request.ts';

type Families = Pick<ServiceSpec, 'ipFamilies' | 'ipFamilyPolicy'>;

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
