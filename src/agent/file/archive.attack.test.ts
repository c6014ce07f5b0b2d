import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { prependedBlocks, header, record, tarFrom } from '../../oci/testing/tar-blocks.ts';
import { extractArchive } from './archive.ts';

test(
  'rejects a package with a NUL in a name, an endless name or a pipe as its archive',
  { timeout: 60_000 },
  async (t) => {
    const directory = await scratchDirectory(t);
    const [archive, out] = [join(directory, 'a.tar'), join(directory, 'out')];
    await mkdir(out);
    const attacks: readonly [string, RegExp][] = [
      ['a\0b', /has a NUL/],
      ['a/'.repeat(10_000), /longer than 4096/],
    ];
    for (const [name, message] of attacks) {
      await writeFile(archive, tarFrom(prependedBlocks('x', record('path', name)), header('a', '0', 0)));
      await assert.rejects(extractArchive(archive, out), { code: 'AGENT_ARCHIVE_INVALID', message });
    }
    const pipe = join(directory, 'pipe');
    execFileSync('mkfifo', [pipe]);
    await assert.rejects(extractArchive(pipe, out), {
      code: 'AGENT_ARCHIVE_INVALID',
      message: /not a regular file/,
    });
    assert.deepEqual(await readdir(out), []);
  },
);
