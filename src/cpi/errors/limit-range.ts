import { isProductError } from '../../errors/product-error.ts';
import { isApiError, type ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi, Resource } from '../../kubernetes/api.ts';
import type { NamespacedObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { explainApiError } from './explain-api-error.ts';
import { limitsGivenBy, someLimitRange } from './explain-forbidden.ts';

export const limitRanges: Resource = { group: '', version: 'v1', plural: 'limitranges', namespaced: true };

/** The fields of v1.LimitRange that the CPI reads. */
interface LimitRange extends NamespacedObject {
  spec: { limits: LimitRangeItem[] };
}

interface LimitRangeItem {
  type: string;
  default?: Readonly<Record<string, string>>;
}

/**
 * Returns true if a LimitRange set a resource of a container of the pod (kubernetes:
 * plugin/pkg/admission/limitranger).
 */
export const isFromLimitRange = ({ metadata }: Pod): boolean =>
  metadata.annotations?.['kubernetes.io/limit-ranger'] !== undefined;

/**
 * Returns the text that names the LimitRanges of a namespace with a default limit for one of these resources.
 * If the account may not list them, or none matches, the text describes how to find them.
 */
export async function nameLimitRanges(
  api: KubernetesApi,
  namespace: string,
  resources: readonly string[],
): Promise<string> {
  const gives = ({ type, default: limits = {} }: LimitRangeItem): boolean =>
    type === 'Container' && resources.some((name) => Object.hasOwn(limits, name));
  const names = (await listLimitRanges(api, namespace))
    .filter(({ spec }) => spec.limits.some(gives))
    .map(({ metadata }) => metadata.name);
  return names.length === 0
    ? someLimitRange(namespace)
    : `LimitRange ${names.join(' or ')} in namespace ${namespace}`;
}

/**
 * Returns an empty list if the server refuses or cannot be reached: the names only improve a message, so the
 * call must not fail without them.
 */
async function listLimitRanges(api: KubernetesApi, namespace: string): Promise<LimitRange[]> {
  try {
    return (await api.list<LimitRange>(limitRanges, { namespace })).items;
  } catch (error) {
    if (isApiError(error) || isProductError(error)) return [];
    throw error;
  }
}

/**
 * Returns the error of a create. If the default of a LimitRange caused it, the error names the LimitRange.
 */
export async function withLimitRange(
  api: KubernetesApi,
  namespace: string,
  error: ApiError,
): Promise<unknown> {
  const resources = limitsGivenBy(error);
  if (resources.length === 0) return error;
  return explainApiError(error, await nameLimitRanges(api, namespace, resources));
}
