import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';

/**
 * Returns why the driver refused. Its resizer writes the reason on the claim together with the refusal, while
 * its event comes later, or never (kubernetes-csi/external-resizer pkg/modifycontroller/modify_status.go).
 * Undefined if it wrote no reason.
 */
export function claimConditionMessage(
  { status }: PersistentVolumeClaim,
  type: 'ModifyVolumeError' | 'ControllerResizeError',
): string | undefined {
  const condition = status?.conditions?.find((one) => one.type === type && one.status === 'True');
  const words = [condition?.reason, condition?.message].filter((word) => word !== undefined && word !== '');
  return words.length === 0 ? undefined : words.join(': ');
}
