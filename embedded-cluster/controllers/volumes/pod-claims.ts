import type { Pod, Volume } from '../../../src/kubernetes/types/pod.ts';

/** A claim that a pod mounts. `ephemeral` ones are created for the pod and owned by it. */
export interface PodClaim {
  readonly name: string;
  readonly ephemeral: boolean;
}

/**
 * Returns the claims of a pod, in the order of its volumes (k8s.io/component-helpers storage/ephemeral for
 * the name).
 */
export function podClaims(pod: Pod): PodClaim[] {
  return (pod.spec.volumes ?? []).flatMap((volume) => claimOf(pod, volume));
}

function claimOf(pod: Pod, volume: Volume): PodClaim[] {
  if (volume.persistentVolumeClaim !== undefined) {
    return [{ name: volume.persistentVolumeClaim.claimName, ephemeral: false }];
  }
  if (volume.ephemeral !== undefined) {
    return [{ name: `${pod.metadata.name}-${volume.name}`, ephemeral: true }];
  }
  return [];
}

/** Returns true if the pod's containers have ended and will not start again. */
export function isTerminal(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}
