import { packTar } from 'modern-tar';
import type { TarHeader as Entry } from 'modern-tar';
import { checkRootTar, type RootTarOptions } from '../tar/check-root-tar.ts';

/** An entry of a tar, with its content. */
export type RootEntry = Omit<Entry, 'size'> & { readonly body?: string };

/** Returns a tar with these entries, made by a third-party packer. */
export async function packRoot(...entries: RootEntry[]): Promise<Buffer> {
  return Buffer.from(
    await packTar(
      entries.map(({ body, ...entry }) => ({
        header: { ...entry, size: body?.length ?? 0 },
        ...(body !== undefined && { body }),
      })),
    ),
  );
}

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** Returns the output of checkRootTar for a tar that arrives in chunks of `size` bytes. */
export async function checkRoot(tar: Buffer, size = 1000, options: RootTarOptions = {}): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of checkRootTar(inChunks(tar, size), 'root.tar', options)) chunks.push(chunk);
  return Buffer.concat(chunks);
}
