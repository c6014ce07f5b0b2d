import assert from 'node:assert/strict';
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import type { PathSegment } from '../../platform/path-segment.ts';
import { digestOfFile } from '../digest/verify-file.ts';
import { writeReleaseFixture } from '../testing/release-fixture.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { createRelease } from './create-release.ts';
import { packRelease } from './pack-release.ts';

/** A release directory of another author, and a folder of the operator's. */
async function scene(t: TestContext) {
  const scratch = await scratchDirectory(t);
  const [release, own] = [join(scratch, 'release'), join(scratch, 'own')];
  await writeReleaseFixture(release);
  await mkdir(own);
  const blobs: Record<string, unknown> = {};
  for (const name of ['archives/one.tgz', 'archives/two.tar', 'both/file.txt'])
    blobs[name] = { size: 9, sha: await digestOfFile(join(release, 'blobs', name)) };
  await writeFile(join(release, 'config/blobs.yml'), stringify(blobs));
  await writeFile(join(own, 'key'), 'private');
  let ids = 0;
  const create = () =>
    createRelease(
      { directory: release },
      {
        cacheDirectory: join(scratch, 'cache'),
        readGit: () => Promise.resolve({ commitHash: 'abc1234', changes: '' }),
        newId: () => `id-${(ids += 1)}` as PathSegment,
        now: () => 1700000000,
      },
    );
  const pack = () => packRelease({ directory: release, version: '1', outFile: join(scratch, 'r.tgz') });
  return { release, own, create, pack };
}

const leadsOut = { code: 'RELEASE_INVALID', message: /leads out of the release/u };

test("a link in a release directory brings no file of the operator's into a release", async (t) => {
  const { release, own, create, pack } = await scene(t);
  const refused = async (what: string): Promise<void> => {
    await assert.rejects(create(), leadsOut, what);
    await assert.rejects(pack(), leadsOut, what);
  };
  const template = join(release, 'jobs/web/templates/config/app.json.erb');
  await rename(template, `${template}.was`);
  await symlink(join(own, 'key'), template);
  await refused('a template');
  await rm(template);
  await rename(`${template}.was`, template);

  for (const folder of ['jobs/web/templates', 'jobs', 'packages', 'src']) {
    await rename(join(release, folder), join(own, 'moved'));
    await symlink(join(own, 'moved'), join(release, folder));
    await refused(folder);
    await rm(join(release, folder));
    await rename(join(own, 'moved'), join(release, folder));
  }
  await pack();
});

test('no link of a release directory leads what is written elsewhere', async (t) => {
  const { release, own, create } = await scene(t);
  const stored = join(release, 'store');
  await mkdir(stored);
  await writeFile(join(stored, 'one'), 'planted');
  const blobstore = { provider: 'local', options: { blobstore_path: 'store' } };
  await writeFile(join(release, 'config/final.yml'), stringify({ name: 'fixture', blobstore }));
  await rename(join(release, 'blobs'), join(release, 'blobs.was'));
  const blob = { size: 7, sha: await digestOfFile(join(stored, 'one')), object_id: 'one' };
  const index = join(release, 'config/blobs.yml');
  await rename(index, `${index}.was`);
  await writeFile(index, stringify({ authorized_keys: blob }));
  await symlink(own, join(release, 'blobs'));
  await assert.rejects(create(), leadsOut);
  assert.deepEqual(await readdir(own), ['key']);
  await rm(join(release, 'blobs'));
  await rename(join(release, 'blobs.was'), join(release, 'blobs'));
  await rename(`${index}.was`, index);

  for (const folder of ['.dev_builds', 'dev_releases']) {
    await rm(join(release, folder), { recursive: true, force: true });
    await symlink(own, join(release, folder));
    await assert.rejects(create(), leadsOut, folder);
    assert.deepEqual(await readdir(own), ['key'], folder);
    await rm(join(release, folder));
  }
  await create();
});

test('in a git repository a release may link to its neighbours', async (t) => {
  const { release, own, pack } = await scene(t);
  await rename(join(release, 'src'), join(own, 'src'));
  await symlink('../own/src', join(release, 'src'));
  await mkdir(join(release, '..', '.git'));
  await pack();
});
