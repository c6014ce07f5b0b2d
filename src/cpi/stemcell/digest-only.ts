import { createHash } from 'node:crypto';
import type { BlobWriter } from '../../oci/layout/write-blob.ts';

/** A blob writer that computes digests and stores nothing, because the source of the blobs exists already. */
export const digestOnly: BlobWriter = {
  async add(mediaType, source) {
    const hash = createHash('sha256');
    let size = 0;
    for await (const chunk of source) {
      hash.update(chunk);
      size += chunk.length;
    }
    return { mediaType, digest: `sha256:${hash.digest('hex')}`, size };
  },
};
