import { Readable } from 'node:stream';
import type { LocalBlobs } from '../blob/local-blobs.ts';
import { verifyDigests } from '../blob/digest.ts';
import { type Action, argument } from './action.ts';

/**
 * `upload_blob [{blob_id, checksum, payload}]` -> the id. The payload is base64, with line breaks. The
 * director sends rendered templates this way, so that their secrets are not in its blobstore (bosh-agent:
 * agent/action/upload_blob.go).
 */
export function uploadBlob({ local }: { readonly local: LocalBlobs }): Action {
  return {
    mode: 'asynchronous',
    async run(args) {
      const blob = argument(args, 0, 'blob');
      const id = blob.get('blob_id').nonEmptyString();
      const digest = blob.get('checksum').nonEmptyString();
      const text = blob
        .get('payload')
        .stringThat((payload) => isBase64(withoutSpaces(payload)), 'must be base64');
      await local.write(id, Readable.from([Buffer.from(withoutSpaces(text), 'base64')]), (path) =>
        verifyDigests(path, digest, `the blob '${id}' of upload_blob`),
      );
      return id;
    },
  };
}

const withoutSpaces = (text: string): string => text.replaceAll(/\s/gu, '');
const isBase64 = (text: string): boolean => /^[A-Za-z0-9+/]*={0,2}$/u.test(text) && text.length % 4 === 0;
