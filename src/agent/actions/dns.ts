import { requireSignedUrl } from '../blob/signed-url.ts';
import type { BlobSource } from '../blob/blobs.ts';
import type { DnsRecordsFile } from '../dns/dns-records-file.ts';
import { ProductError } from '../../errors/product-error.ts';
import { type Action, objectArg, stringArg } from './action.ts';

/** `sync_dns [blob id, digest, version]` -> `"synced"` when /etc/hosts and records.json have the records. */
export function syncDns(records: DnsRecordsFile): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const blobId = stringArg(args, 0, 'blob id');
      return sync(records, { blobId, digest: stringArg(args, 1, 'digest') }, args[2]);
    },
  };
}

/** `sync_dns_with_signed_url [{signed_url, multi_digest, version, blobstore_headers}]` -> `"synced"`. */
export function syncDnsWithSignedUrl(records: DnsRecordsFile): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const argument = objectArg(args, 0, 'request');
      const source = {
        blobId: '',
        signed: requireSignedUrl(argument['signed_url'], argument['blobstore_headers'], 'signed_url'),
        digest: stringArg([argument['multi_digest']], 0, 'multi_digest'),
      };
      return sync(records, source, argument['version']);
    },
  };
}

async function sync(records: DnsRecordsFile, source: BlobSource, version: unknown): Promise<string> {
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 0)
    throw new ProductError('AGENT_ARGUMENT_INVALID', 'the version of the records is not a whole number');
  await records.sync(source, version);
  return 'synced';
}
