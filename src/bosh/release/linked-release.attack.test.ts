import assert from 'node:assert/strict';
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import type { PathSegment } from '../../platform/path-segment.ts';
import { digestOfFile } from '../digest.ts';
import { writeReleaseFixture } from '../testing/release-fixture.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { createRelease, type CreateReleaseOptions } from './create-release.ts';
import { packRelease } from './pack-release.ts';

/** Creates a release directory of another author and a directory of the operator. */
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
  const notices: string[] = [];
  const create = (options: Partial<CreateReleaseOptions> = {}) =>
    createRelease(
      { directory: release, ...options },
      {
        cacheDirectory: join(scratch, 'cache'),
        readGit: () => Promise.resolve({ commitHash: 'abc1234', changes: '' }),
        newId: () => `id-${(ids += 1)}` as PathSegment,
        now: () => 1700000000,
        notice: (line) => notices.push(line),
      },
    );
  const pack = () => packRelease({ directory: release, version: '1', outFile: join(scratch, 'r.tgz') });
  return { release, own, create, pack, notices };
}

const leadsOut = { code: 'RELEASE_INVALID', message: /leads out of the release/u };

test('a link in a release directory brings no file of the operator into a release', async (t) => {
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

  await symlink(join(own, 'key'), join(release, 'NOTICE.linked'));
  await refused('a license');
  await rm(join(release, 'NOTICE.linked'));

  for (const directory of ['jobs/web/templates', 'jobs', 'packages', 'src']) {
    await rename(join(release, directory), join(own, 'moved'));
    await symlink(join(own, 'moved'), join(release, directory));
    await refused(directory);
    await rm(join(release, directory));
    await rename(join(own, 'moved'), join(release, directory));
  }
  await pack();
});

test('no link in a release directory redirects a write', async (t) => {
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

  for (const directory of ['.dev_builds', 'dev_releases']) {
    await rm(join(release, directory), { recursive: true, force: true });
    await symlink(own, join(release, directory));
    await assert.rejects(create(), leadsOut, directory);
    assert.deepEqual(await readdir(own), ['key'], directory);
    await rm(join(release, directory));
  }
  await create();
});

test('a blobstore outside of the release is named before its use, and created there only with --force', async (t) => {
  const { release, own, create, notices } = await scene(t);
  const at = (path: string): Promise<void> =>
    writeFile(
      join(release, 'config/final.yml'),
      stringify({ name: 'fixture', blobstore: { provider: 'local', options: { blobstore_path: path } } }),
    );
  const code = 'RELEASE_INVALID';
  await at('../own/store');
  const missing = { code, message: /The folder '.*own\/store' .* does not exist; create it first, .*--force/u };
  await assert.rejects(create({ final: true }), missing);
  assert.deepEqual([await readdir(own), notices], [['key'], []]);
  await create({ final: true, force: true });
  assert.match(notices.join('\n'), /^The release's blobstore is the folder '.*own\/store', outside of the release$/u);
  assert.ok((await readdir(join(own, 'store'))).length > 0);

  await symlink(join(own, 'store'), join(release, 'linked'));
  await at('linked');
  await rm(join(release, '../cache'), { recursive: true });
  await create({ final: true });
  assert.match(notices.at(-1) ?? '', /is the folder '.*release\/linked', outside of the release/u);
  const noticeCount = notices.length;
  await at('within');
  await create({ final: true });
  assert.equal(notices.length, noticeCount, 'a blobstore in the release is no surprise');

  await symlink(join(own, 'new'), join(release, 'dangling'));
  await at('dangling');
  const leadsNowhere = { code, message: /dangling' is a symbolic link without a target/u };
  await assert.rejects(create({ final: true, force: true }), leadsNowhere);
  await at('within');
  await rm(join(release, 'dev_releases'), { recursive: true, force: true });
  await symlink(join(own, 'new'), join(release, 'dev_releases'));
  await assert.rejects(create(), { code, message: /dev_releases' is a symbolic link without a target/u });
  assert.deepEqual((await readdir(own)).toSorted(), ['key', 'store']);
});

test('a release in a git repository may link to its sibling directories', async (t) => {
  const { release, own, pack } = await scene(t);
  await rename(join(release, 'src'), join(own, 'src'));
  await symlink('../own/src', join(release, 'src'));
  await mkdir(join(release, '..', '.git'));
  await pack();
});
