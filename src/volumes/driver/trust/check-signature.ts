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

/** Whether the broker signed a volume for the app that it is mounted for; else why it counts as not signed. */
export type SignatureCheck = { readonly isSigned: true } | { readonly isSigned: false; readonly why: string };

/**
 * Holds a volume against the broker's signature in its name. Where the cell says which process of an app it is for
 * (`_workload_guid`), that has to be the app of the binding; of a task it says the task's own guid.
 */
export function checkSignature(name: VolumeName, options: CreateOptions, keys: PublicKeys): SignatureCheck {
  const signed = verifyVolumeId(volumeIdIn(name), options, keys);
  if ('refused' in signed) return { isSigned: false, why: signed.why };
  const workload = options['_workload_guid'];
  const isOfProcess = workload !== undefined && options['_workload_type'] !== 'task';
  if (isOfProcess && !(typeof workload === 'string' && workload.startsWith(signed.appGuid)))
    return {
      isSigned: false,
      why: 'the volume is signed for another app; bind this app to the service instance itself',
    };
  return { isSigned: true };
}
