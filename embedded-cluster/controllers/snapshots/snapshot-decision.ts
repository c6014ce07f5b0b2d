import {
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  snapshotAnnotations,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '../../../src/kubernetes/types/storage.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { isLocalVolume } from '../volumes/local-volume.ts';

export interface SnapshotInput {
  readonly snapshot: VolumeSnapshot;
  readonly claim: PersistentVolumeClaim | undefined;
  readonly volume: PersistentVolume | undefined;
  readonly classes: readonly VolumeSnapshotClass[];
}

export type SnapshotDecision =
  | { readonly kind: 'take'; readonly volumeName: string; readonly snapshotClass: VolumeSnapshotClass }
  /** No controller of this cluster serves the volume; a controller of another driver may. */
  | { readonly kind: 'leave' }
  | { readonly kind: 'error'; readonly message: string };

/**
 * Decides about a VolumeSnapshot that has no content yet (external-snapshotter pkg/common-controller). Pure.
 */
export function decideSnapshot({ snapshot, claim, volume, classes }: SnapshotInput): SnapshotDecision {
  const { persistentVolumeClaimName: claimName, volumeSnapshotContentName } = snapshot.spec.source;
  if (claimName === undefined) {
    const content = volumeSnapshotContentName ?? '';
    return failed(`the embedded cluster does not bind content ${content} that it did not make`);
  }
  if (claim === undefined) return failed(`failed to get input parameters: PVC ${claimName} not found`);
  if (claim.status?.phase !== 'Bound' || volume === undefined) {
    return failed(`the PVC ${claimName} is not yet bound to a PV, will not attempt to take a snapshot`);
  }
  const named = snapshot.spec.volumeSnapshotClassName;
  if (!isLocalVolume(volume)) return { kind: 'leave' };
  const snapshotClass =
    named === undefined ? defaultClass(classes) : classes.find(({ metadata }) => metadata.name === named);
  if (snapshotClass === undefined) {
    return failed(
      named === undefined
        ? `cannot find default snapshot class for driver ${localProvisioner}`
        : `failed to retrieve snapshot class ${named}: not found`,
    );
  }
  if (snapshotClass.driver !== localProvisioner) {
    return failed(`snapshot class ${named ?? ''} is of driver ${snapshotClass.driver}`);
  }
  return { kind: 'take', volumeName: volume.metadata.name ?? '', snapshotClass };
}

/** Returns the default class of the local driver. Several defaults count as none, as upstream. */
function defaultClass(classes: readonly VolumeSnapshotClass[]): VolumeSnapshotClass | undefined {
  const defaults = classes.filter(
    ({ driver, metadata }) =>
      driver === localProvisioner && metadata.annotations?.[snapshotAnnotations.defaultClass] === 'true',
  );
  return defaults.length === 1 ? defaults[0] : undefined;
}

const failed = (message: string): SnapshotDecision => ({ kind: 'error', message });

/** Returns the name of the content of a snapshot. It is the same for each try. */
export const contentNameOf = (snapshot: VolumeSnapshot): string =>
  `snapcontent-${snapshot.metadata.uid ?? ''}`;
