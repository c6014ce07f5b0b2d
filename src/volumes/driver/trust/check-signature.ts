import type { PublicKeys } from '../../signature/signature-keys.ts';
import { verifyVolumeId } from '../../signature/signed-volume-id.ts';
import type { CreateOptions } from '../volumes/volume.ts';
import type { VolumeName } from '../volumes/volume-name.ts';
import { volumeIdIn } from '../volumes/volume-name.ts';

/** Whose volumes are mounted: `off` all, `log` all, with a line for each that is not signed. */
export interface SignaturePolicy {
  readonly mode: 'off' | 'log' | 'require';
  readonly keys: PublicKeys;
}

/**
 * Whether the broker signed a volume; else why it counts as not signed. `otherWorkload`: what the cell says
 * the mount is for, where that does not show the app of the binding.
 */
export type SignatureCheck =
  | { readonly isSigned: true; readonly otherWorkload: string | undefined }
  | { readonly isSigned: false; readonly why: string };

/**
 * Holds a volume against the broker's signature in its name, and the cell's workload against the app of the
 * binding.
 */
export function checkSignature(name: VolumeName, options: CreateOptions, keys: PublicKeys): SignatureCheck {
  const signed = verifyVolumeId(volumeIdIn(name), options, keys);
  if ('refused' in signed) return { isSigned: false, why: signed.why };
  return { isSigned: true, otherWorkload: workloadMismatch(options['_workload_guid'], signed.appGuid) };
}

/**
 * Cloud Controller gives an app's guid to its first web process alone: other processes, tasks, and web
 * processes after a rolling deployment have guids of their own. So another guid does not show another app,
 * and refuses nothing.
 */
function workloadMismatch(guid: unknown, appGuid: string): string | undefined {
  if (guid === undefined) return undefined;
  const text = typeof guid === 'string' ? guid : JSON.stringify(guid);
  return text === appGuid || text.startsWith(`${appGuid}-`) ? undefined : text.slice(0, 100);
}
