import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { mediaTypes } from '../image-source.ts';
import { addImage } from './add-image.ts';
import { layoutPaths, openLayout } from './open-layout.ts';
import { writeLayout } from './write-layout.ts';

async function layout(t: TestContext): Promise<string> {
  const directory = join(await scratchDirectory(t), 'layout');
  await writeLayout(directory, async (blobs) => {
    const layer = await blobs.add(mediaTypes.gzipLayer, [Buffer.from('layer')]);
    const config = { os: 'linux', architecture: 'amd64' };
    return {
      manifest: await addImage(blobs, { config, layers: [layer] }),
      reference: 'a',
      architecture: 'amd64',
    };
  });
  return directory;
}

const timeout = 60_000;

test('an index.json that is a pipe, /dev/zero or a link to it is refused at once', { timeout }, async (t) => {
  const directory = await layout(t);
  const index = layoutPaths.index(directory);
  await rm(index);
  execFileSync('mkfifo', [index]);
  await assert.rejects(openLayout(directory), {
    code: 'FILE_NOT_FOUND',
    message: /index\.json.*not a regular/,
  });
  await rm(index);
  await symlink('/dev/zero', index);
  await assert.rejects(openLayout(directory), {
    code: 'FILE_NOT_FOUND',
    message: /index\.json.*symbolic link/,
  });
});

test(
  'a blob that becomes a pipe or a link after the layout was opened is refused',
  { timeout },
  async (t) => {
    const directory = await layout(t);
    const image = await openLayout(directory);
    const [layer] = image.layers;
    assert.ok(layer);
    const path = layoutPaths.blob(directory, layer.digest);
    await rename(path, `${path}.moved`);
    await symlink(`${path}.moved`, path);
    await assert.rejects(buffer(image.open(layer)), { code: 'FILE_NOT_FOUND', message: /symbolic link/ });
    await rm(path);
    execFileSync('mkfifo', [path]);
    await assert.rejects(buffer(image.open(layer)), { code: 'FILE_NOT_FOUND', message: /not a regular/ });
    await assert.rejects(openLayout(directory), { code: 'FILE_NOT_FOUND', message: /not a regular/ });
  },
);
