import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import type {
  ModifyVolumeStatus,
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttributesClass,
} from '../../../src/kubernetes/types/storage.ts';
import { isKnownParameter } from '../../node/volume-provisioner.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { isLocalVolume } from './local-volume.ts';
import { refusedConditions, rolledBackConditions, withoutModification } from './modify-conditions.ts';

/**
 * Modifies volumes of class `local` to the VolumeAttributesClass that their claims name
 * (kubernetes-csi/external-resizer pkg/modifycontroller): the directory, the volume object, the claim's
 * status.
 */
export function createVolumeModifier(context: ControllerContext): WorkQueue {
  const { api, informers, provisioner } = context;
  const recorder = context.recorder(`external-resizer ${localProvisioner}`);
  const queue = new WorkQueue('volume-modifier', reconcile, context);

  informers.claims.onChange(({ key }) => {
    queue.add(key);
  });
  informers.volumes.onChange(({ after }) => {
    const reference = after?.spec.claimRef;
    if (reference !== undefined) {
      queue.add(`${reference.namespace}/${reference.name}`);
    }
  });
  informers.attributesClasses.onChange(() => {
    for (const claim of informers.claims.list()) {
      queue.add(keyOf(claim));
    }
  });

  async function reconcile(key: string): Promise<void> {
    const claim = informers.claims.get(key);
    const volume = informers.volumes.get(claim?.spec.volumeName ?? '');
    if (claim?.status?.phase !== 'Bound' || volume === undefined || !isLocalVolume(volume)) {
      return;
    }
    const { volumeAttributesClassName: wanted } = claim.spec;
    const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = claim.status;
    if (wanted === undefined && modifyVolumeStatus !== undefined) {
      const status = { modifyVolumeStatus: null, conditions: rolledBackConditions(claim) };
      await patchIfUnchanged(api, persistentVolumeClaims, claim, { status }, 'status');
    }
    if (wanted !== undefined && (wanted !== current || modifyVolumeStatus !== undefined)) {
      await applyClass(wanted, claim, volume);
    }
  }

  async function applyClass(
    wanted: string,
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
  ): Promise<void> {
    const attributesClass = informers.attributesClasses.get(wanted);
    const problem = unsupportedParameter(wanted, attributesClass);
    if (problem !== undefined) {
      await setConditions(
        claim,
        { targetVolumeAttributesClassName: wanted, status: problem.status },
        problem.message,
      );
      return;
    }
    await provisioner.modify(volume.metadata.name ?? '', attributesClass?.parameters ?? {});
    if (volume.spec.volumeAttributesClassName !== wanted) {
      const spec = { volumeAttributesClassName: wanted };
      await patchIfUnchanged(api, persistentVolumes, volume, { spec });
      return;
    }
    const conditions = withoutModification(claim);
    const status = { currentVolumeAttributesClassName: wanted, modifyVolumeStatus: null, conditions };
    await patchIfUnchanged(api, persistentVolumeClaims, claim, { status }, 'status');
  }

  async function setConditions(
    claim: PersistentVolumeClaim,
    modifyVolumeStatus: ModifyVolumeStatus,
    message: string,
  ): Promise<void> {
    const said = claim.status?.modifyVolumeStatus;
    if (
      said?.status === modifyVolumeStatus.status &&
      said.targetVolumeAttributesClassName === modifyVolumeStatus.targetVolumeAttributesClassName
    ) {
      return;
    }
    const { targetVolumeAttributesClassName: target = '', status: state } = modifyVolumeStatus;
    const at = timestamp(context.clock.now());
    const conditions = state === 'Infeasible' ? refusedConditions(claim, { target, message, at }) : undefined;
    const status = { modifyVolumeStatus, ...(conditions !== undefined && { conditions }) };
    await patchIfUnchanged(api, persistentVolumeClaims, claim, { status }, 'status');
    recorder.record(
      { kind: 'PersistentVolumeClaim', apiVersion: 'v1', object: claim },
      { type: 'Warning', reason: 'VolumeModifyFailed', message },
    );
  }

  return queue;
}

/** Returns why a local volume cannot be modified to a class, for now or permanently. */
function unsupportedParameter(
  name: string,
  attributesClass: VolumeAttributesClass | undefined,
): { status: 'Pending' | 'Infeasible'; message: string } | undefined {
  if (attributesClass === undefined) {
    return { status: 'Pending', message: `VolumeAttributesClass ${name} not found` };
  }
  if (attributesClass.driverName !== localProvisioner) {
    const message = `VolumeAttributesClass ${name} is of driver ${attributesClass.driverName}`;
    return { status: 'Pending', message };
  }
  const unknown = Object.entries(attributesClass.parameters ?? {}).filter(
    ([key, value]) => !isKnownParameter(key, value),
  );
  return unknown.length === 0
    ? undefined
    : {
        status: 'Infeasible',
        message: `${localProvisioner} cannot do ${unknown.map((one) => one.join('=')).join(', ')}`,
      };
}
