import { Readable } from 'node:stream';
import { ProductError } from '../../errors/product-error.ts';
import type { BlobStore } from '../blob/blob-store.ts';
import { verifyDigests } from '../blob/digest.ts';
import { type Action, objectArg, stringArg } from './action.ts';

/**
 * `upload_blob [{blob_id, checksum, payload}]` -> the id. The payload is base64, with line breaks. The director
 * sends rendered templates this way, so that their secrets are not in its blobstore (bosh-agent:
 * agent/action/upload_blob.go).
 */
export function uploadBlob({ local }: { readonly local: BlobStore }): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      const { blob_id: blobId, checksum, payload } = objectArg(args, 0, 'blob');
      const id = stringArg([blobId], 0, 'blob_id');
      const digest = stringArg([checksum], 0, 'checksum');
      const text = stringArg([payload], 0, 'payload').replaceAll(/\s/gu, '');
      if (!/^[A-Za-z0-9+/]*={0,2}$/u.test(text) || text.length % 4 !== 0)
        throw new ProductError('AGENT_ARGUMENT_INVALID', 'argument 1 (payload) is not base64');
      await local.write(id, Readable.from([Buffer.from(text, 'base64')]), (path) =>
        verifyDigests(path, digest, `the blob '${id}' of upload_blob`),
      );
      return id;
    },
  };
}
