import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import type { VolumeSource } from '../../node/volume-provisioner.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { localVolume, volumeNameOf } from './local-volume.ts';

export interface ProvisionRequest {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  /** Absent: any node. */
  readonly nodeName: string | undefined;
  /** Absent: an empty volume. */
  readonly source?: VolumeSource;
}

/**
 * Creates volumes for claims: the directory first, then the object (kubernetes-csi/external-provisioner).
 * Each step is idempotent, and the claim's next reconcile continues after the last one. If the directory
 * cannot be created, records an event and rejects.
 */
export function createProvisioning(context: ControllerContext): (order: ProvisionRequest) => Promise<void> {
  const { api, informers, provisioner } = context;
  const recorder = context.recorder(localProvisioner);

  async function provision({ claim, storageClass, nodeName, source }: ProvisionRequest): Promise<void> {
    const node = nodeName === undefined ? informers.nodes.list()[0] : informers.nodes.get(nodeName);
    const missing =
      node === undefined
        ? `node ${nodeName ?? ''} for the volume does not exist`
        : missingClass(claim.spec.volumeAttributesClassName);
    if (node === undefined || missing !== undefined) {
      if (claim.status?.phase !== 'Pending') {
        await patchIfUnchanged(
          api,
          persistentVolumeClaims,
          claim,
          { status: { phase: 'Pending' } },
          'status',
        );
      }
      recordFailure(claim, 'ProvisioningFailed', missing ?? '');
      return;
    }
    if (claim.metadata.annotations?.[volumeAnnotations.storageProvisioner] !== localProvisioner) {
      const annotations = { [volumeAnnotations.storageProvisioner]: localProvisioner };
      await patchIfUnchanged(api, persistentVolumeClaims, claim, { metadata: { annotations } });
      return;
    }
    const path = await makeDirectory(claim, source);
    try {
      await api.create(persistentVolumes, localVolume({ claim, storageClass, node, path }));
    } catch (error) {
      // The name contains the claim's uid, so an existing volume is from an earlier try.
      if (!isApiError(error, 409, 'AlreadyExists')) {
        throw error;
      }
    }
    recordFailure(claim, 'ProvisioningSucceeded', `Successfully provisioned volume ${volumeNameOf(claim)}`);
  }

  function missingClass(name: string | undefined): string | undefined {
    return name === undefined || informers.attributesClasses.get(name) !== undefined
      ? undefined
      : `volumeattributesclass.storage.k8s.io "${name}" not found`;
  }

  async function makeDirectory(
    claim: PersistentVolumeClaim,
    source: VolumeSource | undefined,
  ): Promise<string> {
    const { volumeAttributesClassName = '', storageClassName = '' } = claim.spec;
    const name = volumeNameOf(claim);
    try {
      const path = await provisioner.provision(name, source);
      const parameters = informers.attributesClasses.get(volumeAttributesClassName)?.parameters;
      if (parameters !== undefined) {
        await provisioner.modify(name, parameters);
      }
      return path;
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      const message = `failed to provision volume with StorageClass "${storageClassName}": ${cause}`;
      recordFailure(claim, 'ProvisioningFailed', message);
      throw error;
    }
  }

  function recordFailure(claim: PersistentVolumeClaim, reason: string, message: string): void {
    const type = reason === 'ProvisioningSucceeded' ? 'Normal' : 'Warning';
    recorder.record(
      { kind: 'PersistentVolumeClaim', apiVersion: 'v1', object: claim },
      { type, reason, message },
    );
  }

  return provision;
}
