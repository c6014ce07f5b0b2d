import type { Pod } from '../../../src/kubernetes/types/pod.ts';

/**
 * Returns true for pods that share mounts with the node. They run in the node's user namespace, because
 * mounts cannot propagate to another one.
 */
export const hasBidirectionalMount = (pod: Pod): boolean =>
  [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) =>
    container.volumeMounts?.some((mount) => mount.mountPropagation === 'Bidirectional'),
  );
