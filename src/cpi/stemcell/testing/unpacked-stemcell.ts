import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packArchive } from '../../../bosh/archive/pack-archive.ts';

export interface UnpackedStemcell {
  readonly imagePath: string;
  /** The content of the image. */
  readonly bytes: Buffer;
}

/** Writes a heavy stemcell as both callers of the CPI unpack it: `image`, and stemcell.MF beside it. */
export async function unpackedStemcell(
  directory: string,
  content = 'the root file system',
): Promise<UnpackedStemcell> {
  await mkdir(directory, { recursive: true });
  const imagePath = join(directory, 'image');
  await packArchive(
    [
      { kind: 'content', name: './etc/hostname', mode: 0o644, content },
      { kind: 'content', name: './var/vcap/bosh/bin/bosh-agent', mode: 0o755, content: '#!/bin/sh\n' },
    ],
    imagePath,
  );
  const bytes = await readFile(imagePath);
  const sha1 = createHash('sha1').update(bytes).digest('hex');
  await writeFile(
    join(directory, 'stemcell.MF'),
    `name: bosh-warden-boshlite-ubuntu-noble\nversion: '1.165'\nsha1: ${sha1}\nstemcell_formats: [warden-tar]\n`,
  );
  return { imagePath, bytes };
}
