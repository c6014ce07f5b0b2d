import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { badRequest } from '../errors/status-errors.ts';
import { getObject, type Registry } from '../registry/registry.ts';
import type { ResourceRoute } from './resource-route.ts';

export interface PodTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/**
 * Returns the container for logs or exec: the given one, or the pod's only one. Throws ApiError 404 if the
 * pod does not exist, 400 if the container does not exist, if there are several to choose from, or if the pod
 * has no node (pkg/registry/core/pod/strategy.go).
 */
export function podTarget(registry: Registry, route: ResourceRoute, container: string | null): PodTarget {
  const { namespace = '', name = '' } = route;
  const pod = getObject(registry, route.kind, { namespace, name }) as unknown as Pod;
  const main = pod.spec.containers.map((entry) => entry.name);
  const all = [...(pod.spec.initContainers ?? []).map((entry) => entry.name), ...main];
  const chosen = container === null || container === '' ? defaultContainer(pod, main) : container;
  if (chosen === undefined) {
    throw badRequest(`a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`);
  }
  if (!all.includes(chosen)) throw badRequest(`container ${chosen} is not valid for pod ${name}`);
  if ((pod.spec.nodeName ?? '') === '') throw badRequest(`pod ${name} does not have a host assigned`);
  return { namespace, pod: name, container: chosen };
}

function defaultContainer({ metadata }: Pod, containers: readonly string[]): string | undefined {
  const annotated = metadata.annotations?.['kubectl.kubernetes.io/default-container'];
  if (annotated !== undefined && containers.includes(annotated)) return annotated;
  return containers.length === 1 ? containers[0] : undefined;
}
