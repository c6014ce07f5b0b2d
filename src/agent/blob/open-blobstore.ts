import type { BlobstoreSettings } from '../settings/settings.ts';
import { DavBlobstore } from './dav-blobstore.ts';
import { ProgramBlobstore, type BlobstorePrograms } from './program-blobstore.ts';
import type { RemoteBlobstore } from './remote-blobstore.ts';

/**
 * Returns the blobstore of the settings; undefined for `local` and for settings without one, which mean the
 * VM's own. Throws AGENT_SETTINGS_INVALID if the settings cannot be used.
 */
export function openBlobstore(
  settings: BlobstoreSettings | undefined,
  programs: BlobstorePrograms,
): RemoteBlobstore | undefined {
  if (settings === undefined || settings.provider === 'local') return undefined;
  if (settings.provider === 'dav') return new DavBlobstore(settings.options);
  return new ProgramBlobstore(settings, programs);
}
