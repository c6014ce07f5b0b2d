import type { PublicKeys } from '../../signature/signature-keys.ts';
import { verifyVolumeId } from '../../signature/signed-volume-id.ts';
import type { CreateOptions } from '../volumes/volume.ts';
import type { VolumeName } from '../volumes/volume-name.ts';
import { volumeIdIn } from '../volumes/volume-name.ts';

/**
 * The policy for signatures. `require` mounts only signed volumes; `off` and `log` mount all, and `log` logs
 * those that are not signed.
 */
export interface SignaturePolicy {
  readonly mode: 'off' | 'log' | 'require';
  readonly keys: PublicKeys;
}

/**
 * The result of a check: the volume is signed, or the reason why it counts as not signed. `otherWorkload` is
 * the cell's workload guid, if it does not show the app of the binding.
 */
export type SignatureCheck =
  | { readonly isSigned: true; readonly otherWorkload: string | undefined }
  | { readonly isSigned: false; readonly why: string };

/**
 * Verifies the signature in a volume's name, and compares the cell's workload with the app of the binding.
 */
export function checkSignature(name: VolumeName, options: CreateOptions, keys: PublicKeys): SignatureCheck {
  const signed = verifyVolumeId(volumeIdIn(name), options, keys);
  if ('refused' in signed) return { isSigned: false, why: signed.why };
  return { isSigned: true, otherWorkload: workloadMismatch(options['_workload_guid'], signed.appGuid) };
}

/**
 * Returns the workload guid if it does not begin with the guid of the app. Cloud Controller gives the guid of
 * an app only to its first web process: other processes, tasks, and web processes after a rolling deployment
 * have other guids. So another guid does not prove another app, and no mount is rejected for it.
 */
function workloadMismatch(guid: unknown, appGuid: string): string | undefined {
  if (guid === undefined) return undefined;
  const text = typeof guid === 'string' ? guid : JSON.stringify(guid);
  return text === appGuid || text.startsWith(`${appGuid}-`) ? undefined : text.slice(0, 100);
}
