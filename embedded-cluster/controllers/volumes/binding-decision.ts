import { localProvisioner } from '../../api-server/bootstrap.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import { parseQuantity } from '../../../src/kubernetes/types/quantity.ts';
import { matchesLabelSelector } from '../scheduling/node-affinity.ts';
import type { EventDetails } from '../../../src/kubernetes/controllers/event-recorder.ts';

export interface BindingInput {
  readonly claim: PersistentVolumeClaim;
  readonly volumes: readonly PersistentVolume[];
  /** The class that the claim names, if it exists. */
  readonly storageClass: StorageClass | undefined;
}

export type BindingDecision =
  | { readonly kind: 'bind'; readonly volume: PersistentVolume }
  | { readonly kind: 'provision'; readonly storageClass: StorageClass; readonly nodeName: string | undefined }
  | {
      readonly kind: 'wait';
      readonly news?: EventDetails;
      /** The external provisioner whose volume is awaited. */
      readonly provisioner?: string;
    };

/** Decides about a claim that is not bound yet (kubernetes: pv_controller.go, syncUnboundClaim). Pure. */
export function decideBinding(situation: BindingInput): BindingDecision {
  const { claim, volumes, storageClass } = situation;
  const reserved = volumes.find((volume) => isReservedFor(volume, claim));
  if (reserved !== undefined) {
    return reservedDecision(reserved, claim);
  }
  if (claim.spec.volumeName !== undefined && claim.spec.volumeName !== '') {
    return namedVolume(claim, claim.spec.volumeName, volumes);
  }
  if (waitsForConsumer(claim, storageClass)) {
    return {
      kind: 'wait',
      news: {
        type: 'Normal',
        reason: 'WaitForFirstConsumer',
        message: 'waiting for first consumer to be created before binding',
      },
    };
  }
  // A claim with a data source is never bound to an existing empty volume.
  const volume = claim.spec.dataSourceRef === undefined ? findVolume(claim, volumes) : undefined;
  return volume === undefined ? provisionDecision(claim, storageClass) : { kind: 'bind', volume };
}

/** Returns true if the claim's volume is chosen together with its pod's node, which is not known yet. */
function waitsForConsumer(claim: PersistentVolumeClaim, storageClass: StorageClass | undefined): boolean {
  return (
    storageClass?.volumeBindingMode === 'WaitForFirstConsumer' &&
    claim.metadata.annotations?.[volumeAnnotations.selectedNode] === undefined
  );
}

/** Returns true if the volume's claimRef names this claim, by name only or also by uid. */
function isReservedFor(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const reference = volume.spec.claimRef;
  return (
    reference !== undefined &&
    reference.namespace === claim.metadata.namespace &&
    reference.name === claim.metadata.name &&
    (reference.uid === undefined || reference.uid === '' || reference.uid === claim.metadata.uid)
  );
}

function reservedDecision(volume: PersistentVolume, claim: PersistentVolumeClaim): BindingDecision {
  const named = claim.spec.volumeName;
  if (named !== undefined && named !== '' && named !== volume.metadata.name) {
    return namedVolume(claim, named, []);
  }
  const mismatch = mismatchOf(volume, claim);
  return mismatch === undefined
    ? { kind: 'bind', volume }
    : {
        kind: 'wait',
        news: {
          type: 'Warning',
          reason: 'VolumeMismatch',
          message: `Cannot bind to requested volume "${volume.metadata.name}": ${mismatch}`,
        },
      };
}

function namedVolume(
  claim: PersistentVolumeClaim,
  name: string,
  volumes: readonly PersistentVolume[],
): BindingDecision {
  const volume = volumes.find(({ metadata }) => metadata.name === name);
  if (volume === undefined) {
    return { kind: 'wait' };
  }
  if (volume.spec.claimRef !== undefined) {
    return {
      kind: 'wait',
      news: {
        type: 'Warning',
        reason: 'FailedBinding',
        message: `volume "${name}" already bound to a different claim.`,
      },
    };
  }
  return reservedDecision(volume, claim);
}

/** Returns the smallest free volume that fits (kubernetes: pv_controller index.go, findBestMatchForClaim). */
function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
): PersistentVolume | undefined {
  return volumes
    .filter(
      (volume) =>
        volume.spec.claimRef === undefined &&
        volume.metadata.deletionTimestamp === undefined &&
        volume.status?.phase === 'Available' &&
        (claim.spec.selector === undefined ||
          matchesLabelSelector(claim.spec.selector, volume.metadata.labels ?? {})) &&
        mismatchOf(volume, claim) === undefined,
    )
    .toSorted((one, other) => compare(capacityOf(one), capacityOf(other)))[0];
}

/** Returns why a volume cannot be bound to a claim. */
function mismatchOf(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if ((volume.spec.storageClassName ?? '') !== (claim.spec.storageClassName ?? '')) {
    return 'storageClassName does not match';
  }
  if ((volume.spec.volumeMode ?? 'Filesystem') !== (claim.spec.volumeMode ?? 'Filesystem')) {
    return 'incompatible volumeMode';
  }
  if ((claim.spec.accessModes ?? []).some((mode) => volume.spec.accessModes?.includes(mode) !== true)) {
    return 'incompatible accessMode';
  }
  if (capacityOf(volume) < requestOf(claim)) {
    return 'requested PV is too small';
  }
  return undefined;
}

function provisionDecision(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
): BindingDecision {
  const className = claim.spec.storageClassName ?? '';
  if (className === '') {
    const message = 'no persistent volumes available for this claim and no storage class is set';
    return { kind: 'wait', news: { type: 'Normal', reason: 'FailedBinding', message } };
  }
  if (storageClass === undefined) {
    const message = `storageclass.storage.k8s.io "${className}" not found`;
    return { kind: 'wait', news: { type: 'Warning', reason: 'ProvisioningFailed', message } };
  }
  if (storageClass.provisioner !== localProvisioner) {
    const message = `Waiting for a volume to be created either by the external provisioner '${storageClass.provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`;
    return {
      kind: 'wait',
      news: { type: 'Normal', reason: 'ExternalProvisioning', message },
      provisioner: storageClass.provisioner,
    };
  }
  const refusal = provisioningRefusal(claim);
  if (refusal !== undefined) {
    return { kind: 'wait', news: { type: 'Warning', reason: 'ProvisioningFailed', message: refusal } };
  }
  return {
    kind: 'provision',
    storageClass,
    nodeName: claim.metadata.annotations?.[volumeAnnotations.selectedNode],
  };
}

/** Returns why a claim cannot be a directory of one node. */
function provisioningRefusal(claim: PersistentVolumeClaim): string | undefined {
  if (claim.spec.volumeMode === 'Block') {
    return `${localProvisioner} makes file systems only; volumeMode Block is not supported`;
  }
  const shared = claim.spec.accessModes?.find(
    (mode) => mode !== 'ReadWriteOnce' && mode !== 'ReadWriteOncePod',
  );
  if (shared !== undefined) {
    return `${localProvisioner} makes volumes of one node; access mode ${shared} is not supported`;
  }
  return claim.spec.selector === undefined
    ? undefined
    : `${localProvisioner} does not support claims with a selector`;
}

function capacityOf(volume: PersistentVolume): bigint {
  return parseQuantity(volume.spec.capacity?.['storage'] ?? '0') ?? 0n;
}

function requestOf(claim: PersistentVolumeClaim): bigint {
  return parseQuantity(claim.spec.resources?.requests?.['storage'] ?? '0') ?? 0n;
}

function compare(one: bigint, other: bigint): number {
  return one < other ? -1 : Number(one > other);
}
