import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { unpackTar } from 'modern-tar';
import { openLayout } from '../../oci/layout/open-layout.ts';

interface FileOverRoot {
  readonly text: string;
  readonly mode: number;
  readonly target: string;
}

/** Returns the files of an image's layers above the root, by name. */
export async function filesOverRoot(layout: string): Promise<Map<string, FileOverRoot>> {
  const image = await openLayout(layout);
  const found = new Map<string, FileOverRoot>();
  for (const layer of image.layers.slice(1)) {
    const entries = await unpackTar(new Uint8Array(gunzipSync(await buffer(image.open(layer)))));
    for (const { header, data } of entries) {
      const text = Buffer.from(data ?? []).toString();
      found.set(header.name, { text, mode: header.mode ?? 0, target: header.linkname ?? '' });
    }
  }
  return found;
}
