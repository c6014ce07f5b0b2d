import { type EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import type {
  ModifyVolumeStatus,
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttributesClass,
  ClaimCondition,
} from '../../../src/kubernetes/types/storage.ts';
import { isKnownParameter } from '../../node/volume-provisioner.ts';
import type { ControllerContext } from '../controller-context.ts';
import { patchSameVersion } from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { isLocalVolume } from './local-volume.ts';

type Context = ControllerContext<'attributesClasses' | 'claims' | 'volumes'>;

/**
 * Modifies volumes of class `local` to the VolumeAttributesClass that their claims name
 * (kubernetes-csi/external-resizer pkg/modifycontroller): the directory, the volume object, the claim's
 * status.
 */
export class VolumeModifier extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #provisioner: Context['provisioner'];
  readonly #clock: Context['clock'];
  readonly #recorder: EventRecorder;

  constructor(context: Context) {
    super('volume-modifier', context);
    this.#informers = context.informers;
    this.#api = context.api;
    this.#provisioner = context.provisioner;
    this.#clock = context.clock;
    const { informers } = context;
    this.#recorder = context.recorder(`external-resizer ${localProvisioner}`);

    this.watch(informers.claims);

    informers.volumes.onChange(({ after }) => {
      const reference = after?.spec.claimRef;
      if (reference !== undefined) {
        this.queue.add(`${reference.namespace}/${reference.name}`);
      }
    });

    informers.attributesClasses.onChange(() => {
      for (const claim of informers.claims.list()) {
        this.queue.add(keyOf(claim));
      }
    });
  }

  protected override async reconcile(key: string): Promise<void> {
    const claim = this.#informers.claims.get(key);
    const volume = this.#informers.volumes.get(claim?.spec.volumeName ?? '');
    if (claim?.status?.phase !== 'Bound' || volume === undefined || !isLocalVolume(volume)) {
      return;
    }
    const { volumeAttributesClassName: desiredClass } = claim.spec;
    const { currentVolumeAttributesClassName: current, modifyVolumeStatus } = claim.status;
    if (desiredClass === undefined && modifyVolumeStatus !== undefined) {
      const status = { modifyVolumeStatus: null, conditions: rolledBackConditions(claim) };
      await patchSameVersion(this.#api, persistentVolumeClaims, claim, { status }, 'status');
    }
    if (desiredClass !== undefined && (desiredClass !== current || modifyVolumeStatus !== undefined)) {
      await this.#applyClass(desiredClass, claim, volume);
    }
  }

  async #applyClass(
    desiredClass: string,
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
  ): Promise<void> {
    const attributesClass = this.#informers.attributesClasses.get(desiredClass);
    const problem = unsupportedParameter(desiredClass, attributesClass);
    if (problem !== undefined) {
      await this.#setConditions(
        claim,
        { targetVolumeAttributesClassName: desiredClass, status: problem.status },
        problem.message,
      );
      return;
    }
    await this.#provisioner.modify(volume.metadata.name, attributesClass?.parameters ?? {});
    if (volume.spec.volumeAttributesClassName !== desiredClass) {
      const spec = { volumeAttributesClassName: desiredClass };
      await patchSameVersion(this.#api, persistentVolumes, volume, { spec });
      return;
    }
    const conditions = withoutModification(claim);
    const status = { currentVolumeAttributesClassName: desiredClass, modifyVolumeStatus: null, conditions };
    await patchSameVersion(this.#api, persistentVolumeClaims, claim, { status }, 'status');
  }

  async #setConditions(
    claim: PersistentVolumeClaim,
    modifyVolumeStatus: ModifyVolumeStatus,
    message: string,
  ): Promise<void> {
    const modifyStatus = claim.status?.modifyVolumeStatus;
    if (
      modifyStatus?.status === modifyVolumeStatus.status &&
      modifyStatus.targetVolumeAttributesClassName === modifyVolumeStatus.targetVolumeAttributesClassName
    ) {
      return;
    }
    const { targetVolumeAttributesClassName: target = '', status: state } = modifyVolumeStatus;
    const at = timestamp(this.#clock.now());
    const conditions = state === 'Infeasible' ? refusedConditions(claim, { target, message, at }) : undefined;
    const status = { modifyVolumeStatus, ...(conditions !== undefined && { conditions }) };
    await patchSameVersion(this.#api, persistentVolumeClaims, claim, { status }, 'status');
    this.#recorder.record(involved('PersistentVolumeClaim', claim), {
      type: 'Warning',
      reason: 'VolumeModifyFailed',
      message,
    });
  }
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

/** The error of a driver that cannot modify a volume. */
export interface ModifyError {
  /** The requested VolumeAttributesClass. */
  readonly target: string;
  /** The message of the driver. */
  readonly message: string;
  /** The time of the error, RFC 3339. */
  readonly at: string;
}

const modifying = 'ModifyingVolume';
const modifyError = 'ModifyVolumeError';

/**
 * Returns the conditions of a claim whose volume the driver cannot modify to another VolumeAttributesClass.
 * Other conditions are unchanged (kubernetes-csi/external-resizer pkg/modifycontroller/modify_status.go).
 */
export function refusedConditions(
  claim: PersistentVolumeClaim,
  { target, message, at }: ModifyError,
): ClaimCondition[] {
  const common = { status: 'True', lastProbeTime: at };
  return [
    ...withoutModification(claim),
    { ...common, type: modifying, message: `Modifying volume to "${target}" failed. Waiting for retry.` },
    { ...common, type: modifyError, reason: 'InvalidArgument', message },
  ];
}

/** Returns the conditions of a claim whose volume has the class: the other conditions only. */
export const withoutModification = (claim: PersistentVolumeClaim): ClaimCondition[] =>
  conditionsExcept(claim, [modifying, modifyError]);

/**
 * Returns the conditions of a claim whose request was reverted. The condition with the driver's error is
 * kept.
 */
export const rolledBackConditions = (claim: PersistentVolumeClaim): ClaimCondition[] =>
  conditionsExcept(claim, [modifying]);

const conditionsExcept = ({ status }: PersistentVolumeClaim, types: readonly string[]): ClaimCondition[] =>
  (status?.conditions ?? []).filter(({ type }) => !types.includes(type));
