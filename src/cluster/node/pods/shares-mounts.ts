import type { Pod } from '../../../kubernetes/pod.ts';

/** Pods that share mounts with the node stay in its user namespace: mounts do not leave a user namespace. */
export const hasBidirectionalMount = (pod: Pod): boolean =>
  [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) =>
    container.volumeMounts?.some((mount) => mount.mountPropagation === 'Bidirectional'),
  );
