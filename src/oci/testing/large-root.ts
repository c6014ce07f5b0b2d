import { randomBytes } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { packArchive } from '../../bosh/archive/pack-archive.ts';

const megabyte = 1024 * 1024;

/** Writes the root file system as tar.gz. `megabytes`: the size of its content, which does not compress. */
export async function writeLargeRoot(path: string, megabytes: number): Promise<void> {
  const content = `${path}.content`;
  const block = randomBytes(megabyte);
  await using file = await open(content, 'w');
  for (let written = 0; written < megabytes; written += 1) {
    block.writeUInt32LE(written, 0);
    await file.writeFile(block);
  }
  const program = { kind: 'content', mode: 0o755, content: '#!/bin/sh\n' } as const;
  await packArchive(
    [
      { ...program, name: './bin/sh' },
      { ...program, name: './var/vcap/bosh/bin/bosh-agent' },
      { kind: 'file', name: './content', mode: 0o644, path: content, size: megabytes * megabyte },
    ],
    path,
    { compression: 'stored' },
  );
  await rm(content);
}
