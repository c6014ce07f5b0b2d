import { requireSignedUrl } from '../blob/signed-url.ts';
import type { BlobSource } from '../blob/blobs.ts';
import type { DnsRecordsFile } from '../dns/dns-records-file.ts';
import type { Field } from '../../platform/field.ts';
import { type Action, argument } from './action.ts';

/** `sync_dns [blob id, digest, version]` -> `"synced"` when /etc/hosts and records.json have the records. */
export function syncDns(records: DnsRecordsFile): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const blobId = argument(args, 0, 'blob id').nonEmptyString();
      const digest = argument(args, 1, 'digest').nonEmptyString();
      return sync(records, { blobId, digest }, argument(args, 2, 'version'));
    },
  };
}

/** `sync_dns_with_signed_url [{signed_url, multi_digest, version, blobstore_headers}]` -> `"synced"`. */
export function syncDnsWithSignedUrl(records: DnsRecordsFile): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const field = argument(args, 0, 'request');
      const source = {
        signed: requireSignedUrl(field.get('signed_url'), field.get('blobstore_headers')),
        digest: field.get('multi_digest').nonEmptyString(),
      };
      return sync(records, source, field.get('version'));
    },
  };
}

async function sync(records: DnsRecordsFile, source: BlobSource, version: Field): Promise<string> {
  await records.sync(source, version.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }));
  return 'synced';
}
