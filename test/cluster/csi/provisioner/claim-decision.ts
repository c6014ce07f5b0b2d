import {
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../../src/kubernetes/types/storage.ts';

const betaProvisioner = 'volume.beta.kubernetes.io/storage-provisioner';

/**
 * Returns true if the volume controller has left the claim to this driver: the annotation names the driver,
 * the claim has no volume yet, and its node is chosen if the class waits for that
 * (sig-storage-lib-external-provisioner, shouldProvision).
 */
export function isToProvision(
  claim: PersistentVolumeClaim,
  storageClass: StorageClass | undefined,
  driverName: string,
): boolean {
  const { annotations = {}, deletionTimestamp } = claim.metadata;
  const provisioner = annotations[volumeAnnotations.storageProvisioner] ?? annotations[betaProvisioner];
  return (
    deletionTimestamp === undefined &&
    (claim.spec.volumeName ?? '') === '' &&
    provisioner === driverName &&
    storageClass?.provisioner === driverName &&
    (storageClass.volumeBindingMode !== 'WaitForFirstConsumer' ||
      (annotations[volumeAnnotations.selectedNode] ?? '') !== '')
  );
}
