import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';

/**
 * Why the driver refused, as its resizer wrote it on the claim together with the refusal: its event comes later, or never
 * (kubernetes-csi/external-resizer pkg/modifycontroller/modify_status.go). Undefined where it wrote nothing.
 */
export function claimConditionMessage(
  { status }: PersistentVolumeClaim,
  type: 'ModifyVolumeError' | 'ControllerResizeError',
): string | undefined {
  const condition = status?.conditions?.find((one) => one.type === type && one.status === 'True');
  const words = [condition?.reason, condition?.message].filter((word) => word !== undefined && word !== '');
  return words.length === 0 ? undefined : words.join(': ');
}
