import { createHash, randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Descriptor } from '../image-source.ts';
import { layoutPaths } from './open-layout.ts';
import { writing } from '../../platform/write-file.ts';

export interface BlobWriter {
  /**
   * Writes the bytes as they arrive, without keeping them in memory. The blob appears whole, under its
   * digest, or not at all.
   */
  add(mediaType: string, source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<Descriptor>;
}

/** Writes blobs into the folder of a layout, whose directory of blobs must exist. */
export function blobWriter(directory: string): BlobWriter {
  return {
    async add(mediaType, source) {
      const unfinished = join(layoutPaths.blobs(directory), `.${randomUUID()}.tmp`);
      const hash = createHash('sha256');
      let size = 0;
      async function* measured(): AsyncGenerator<Uint8Array> {
        for await (const chunk of source) {
          hash.update(chunk);
          size += chunk.length;
          yield chunk;
        }
      }
      try {
        // The file is opened first: a write stream that fails before it is open would create the file after
        // its removal.
        await using file = await open(unfinished, 'wx');
        await writing(unfinished, () => file.writeFile(measured()));
        await file.sync();
        const digest = `sha256:${hash.digest('hex')}`;
        await rename(unfinished, layoutPaths.blob(directory, digest));
        return { mediaType, digest, size };
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
    },
  };
}
