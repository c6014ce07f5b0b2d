import type { ClaimCondition, PersistentVolumeClaim } from '../../../kubernetes/volume.ts';

/** What a driver answered that cannot do it. */
export interface ModifyError {
  /** The VolumeAttributesClass that was asked for. */
  readonly target: string;
  /** The driver's words. */
  readonly message: string;
  /** RFC 3339. */
  readonly at: string;
}

const modifying = 'ModifyingVolume';
const modifyError = 'ModifyVolumeError';

/**
 * The conditions of a claim whose volume its driver does not bring to another VolumeAttributesClass, those of others untouched
 * (kubernetes-csi/external-resizer pkg/modifycontroller/modify_status.go).
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

/** Those of others alone: of one whose volume has the class. */
export const withoutModification = (claim: PersistentVolumeClaim): ClaimCondition[] =>
  conditionsExcept(claim, [modifying, modifyError]);

/** Of one whose wish was taken back; why it was refused stays to be read. */
export const rolledBackConditions = (claim: PersistentVolumeClaim): ClaimCondition[] =>
  conditionsExcept(claim, [modifying]);

const conditionsExcept = ({ status }: PersistentVolumeClaim, types: readonly string[]): ClaimCondition[] =>
  (status?.conditions ?? []).filter(({ type }) => !types.includes(type));
