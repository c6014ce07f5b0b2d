import { ProductError } from '../../errors/product-error.ts';
import type { Field } from '../../platform/field.ts';
import type { RemoteBlobstore } from '../blob/remote-blobstore.ts';
import { errorMessage } from '../file/error-code.ts';
import type { Log } from '../log.ts';
import type { Bus } from '../mbus/bus.ts';
import type { BlobstoreSettings } from '../settings/settings.ts';
import type { TrustedCertificates } from '../settings/trusted-certificates.ts';
import { parseUpdate, type UpdatedSettings } from '../settings/updated-settings.ts';
import { type Action, argument } from './action.ts';

export interface UpdateSettingsOptions {
  readonly updatedSettings: UpdatedSettings;
  readonly trustedCertificates: TrustedCertificates;
  /** Returns the blobstore of new settings. Throws if they cannot be used. */
  readonly openBlobstore: (settings: BlobstoreSettings | undefined) => RemoteBlobstore | undefined;
  readonly exchangeCertificate: Bus['exchangeCertificate'];
  readonly log: Log;
}

/**
 * `update_settings [{trusted_certs, disk_associations, mbus, blobstores}]` -> `"ok"`. Upstream's agent exits
 * to read the new settings (bosh-agent: agent/action/update_settings.go), which costs the director a request
 * that is not answered. This agent uses them at once. An error changes nothing. If the agent is killed after
 * the file is written, `get_task` still answers `ok`.
 */
export function updateSettings(options: UpdateSettingsOptions): Action {
  return {
    mode: 'asynchronous',
    async run(args, _signal, taskId) {
      const change = argument(args, 0, 'settings').required();
      assertNoDiskAssociations(change.get('disk_associations'));
      const { updatedSettings, trustedCertificates } = options;
      const previous = updatedSettings.current;
      const source = updatedSettings.merge(change, taskId);
      const next = parseUpdate(source, taskId);
      options.openBlobstore(next.blobstore);
      const commit = async (): Promise<void> => {
        try {
          await trustedCertificates.install(next.trustedCerts);
          await updatedSettings.write(source);
        } catch (error) {
          await restoreTrustedCertificates(options, previous?.trustedCerts ?? '');
          throw error;
        }
      };
      const isNewCertificate = JSON.stringify(next.certificate) !== JSON.stringify(previous?.certificate);
      if (next.certificate === undefined || !isNewCertificate) await commit();
      else await options.exchangeCertificate(next.certificate, commit);
      return 'ok';
    },
  };
}

/** The caller throws the error that made this necessary. The store may be what cannot be changed. */
async function restoreTrustedCertificates(
  { trustedCertificates, log }: UpdateSettingsOptions,
  pem: string,
): Promise<void> {
  try {
    await trustedCertificates.install(pem);
  } catch (error) {
    log.error(`the previous trusted_certs: ${errorMessage(error)}`);
  }
}

function assertNoDiskAssociations(associations: Field): void {
  if (associations.list().length === 0) return;
  throw new ProductError(
    'AGENT_NOT_SUPPORTED',
    'disk_associations: this agent has one persistent disk, mounted at /var/vcap/store, and no named disks: use persistent_disk_type in place of persistent_disks in the manifest',
  );
}
