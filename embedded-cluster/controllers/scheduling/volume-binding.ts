import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import { podClaims } from '../volumes/pod-claims.ts';

export interface VolumeLister {
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
}

/** The state of a pod's claims before a node is chosen. */
export type ClaimCheck =
  | { readonly refusal: string }
  | {
      readonly refusal?: undefined;
      readonly volumes: readonly PersistentVolume[];
      /** Claims whose volume is created after the node is chosen. */
      readonly unbound: readonly PersistentVolumeClaim[];
      readonly selectedNodes: readonly string[];
      /** Names of claims that only one pod may use (ReadWriteOncePod). */
      readonly exclusive: readonly string[];
    };

/** Checks a pod's claims as PreFilter of the scheduler plugin VolumeBinding, with its messages. Pure. */
export function checkClaims(pod: Pod, sources: VolumeLister): ClaimCheck {
  const volumes: PersistentVolume[] = [];
  const unbound: PersistentVolumeClaim[] = [];
  const exclusive: string[] = [];
  for (const { name, ephemeral } of podClaims(pod)) {
    const claim = sources.claim(`${pod.metadata.namespace}/${name}`);
    const refusal = claimRefusal(pod, { name, ephemeral }, claim);
    if (claim === undefined || refusal !== undefined) {
      return { refusal: refusal ?? '' };
    }
    if (claim.spec.accessModes?.includes('ReadWriteOncePod') === true) {
      exclusive.push(name);
    }
    const volume = boundVolume(claim, sources);
    if (volume !== undefined) {
      volumes.push(volume);
    } else if (isDelayed(claim, sources)) {
      unbound.push(claim);
    } else {
      return { refusal: 'pod has unbound immediate PersistentVolumeClaims' };
    }
  }
  const selectedNodes = unbound.flatMap(
    ({ metadata }) => metadata.annotations?.[volumeAnnotations.selectedNode] ?? [],
  );
  return { volumes, unbound, selectedNodes, exclusive };
}

function claimRefusal(
  pod: Pod,
  { name, ephemeral }: { name: string; ephemeral: boolean },
  claim: PersistentVolumeClaim | undefined,
): string | undefined {
  if (claim === undefined) {
    return ephemeral
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${name}"`
      : `persistentvolumeclaim "${name}" not found`;
  }
  if (claim.metadata.deletionTimestamp !== undefined) {
    return `persistentvolumeclaim "${name}" is being deleted`;
  }
  if (claim.status?.phase === 'Lost') {
    return `persistentvolumeclaim "${name}" bound to non-existent persistentvolume "${claim.spec.volumeName ?? ''}"`;
  }
  const owned = claim.metadata.ownerReferences?.some(({ uid }) => uid === pod.metadata.uid) === true;
  return ephemeral && !owned ? `PVC ${name} was not created for pod (pod is not owner)` : undefined;
}

/** Returns the volume of a claim whose binding is complete: the status of the claim is set last. */
function boundVolume(claim: PersistentVolumeClaim, sources: VolumeLister): PersistentVolume | undefined {
  return claim.status?.phase === 'Bound' ? sources.volume(claim.spec.volumeName ?? '') : undefined;
}

function isDelayed(claim: PersistentVolumeClaim, sources: VolumeLister): boolean {
  const storageClass = sources.storageClass(claim.spec.storageClassName ?? '');
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer';
}
