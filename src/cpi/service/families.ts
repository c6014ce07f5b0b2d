import { ProductError } from '../../errors/product-error.ts';
import { familyOf } from '../../kubernetes/ip-text.ts';
import type { Service, ServiceSpec } from '../../kubernetes/service.ts';
import type { ServiceRequest } from './service-request.ts';

type Families = Pick<ServiceSpec, 'ipFamilies' | 'ipFamilyPolicy'>;

/**
 * Those of the addresses that are asked for: a Service passes on no address of another family, and without a word it has
 * the cluster's first. Which of two comes first the cluster knows. Pure.
 */
export function requestedFamilies({ clusterIp, loadBalancerIp, externalIps }: ServiceRequest): Families {
  const addresses = [clusterIp, loadBalancerIp, ...externalIps];
  const families = new Set(addresses.flatMap((address) => familyOf(address ?? '') ?? []));
  if (families.size === 2) return { ipFamilyPolicy: 'RequireDualStack' };
  return families.size === 0 ? {} : { ipFamilies: [...families], ipFamilyPolicy: 'SingleStack' };
}

/**
 * Those of the Service that is there: more of them than are asked for is somebody's wish. VM_CREATION_FAILED where they lack
 * the one that is asked for: Kubernetes never changes a Service's first. Pure.
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
