import type { ClaimCondition, PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';

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
