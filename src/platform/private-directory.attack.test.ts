import assert from 'node:assert/strict';
import { chmod, chown, lchown, mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { ensurePrivateDirectory } from './private-directory.ts';

const other = 4001;
const skip = process.getuid?.() === 0 ? false : 'needs root: it makes folders of another user';
const notTrusted = (message: RegExp) => ({ code: 'FILE_NOT_TRUSTED', message });

/** Creates a folder of the other user in /tmp, and one of this user to which nothing may be written. */
async function makeDirectories(t: TestContext): Promise<{ foreign: string; own: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'own-folder-'));
  t.after(() => rm(directory, { recursive: true }));
  await chmod(directory, 0o1777);
  const [foreign, own] = [join(directory, 'theirs'), join(directory, 'own')];
  await mkdir(foreign);
  await chown(foreign, other, other);
  await mkdir(own, { mode: 0o700 });
  return { foreign, own };
}

describe('another user makes what lies above the workspace', { skip }, () => {
  test('the folder, so that it can exchange the workspace later', async (t) => {
    const { foreign, own } = await makeDirectories(t);
    await assert.rejects(
      ensurePrivateDirectory(join(foreign, 'workspace')),
      notTrusted(/belongs to user 4001/u),
    );
    await assert.rejects(
      ensurePrivateDirectory(join(foreign, 'a', 'workspace')),
      notTrusted(/belongs to user 4001/u),
    );
    assert.deepEqual([await readdir(foreign), await readdir(own)], [[], []]);
  });

  test('a link in the place of the workspace, or of a folder above it', async (t) => {
    const { foreign, own } = await makeDirectories(t);
    const link = join(own, '..', 'link');
    await symlink(own, link);
    await lchown(link, other, other);
    const options = { mayBeLink: true };
    await assert.rejects(ensurePrivateDirectory(link, options), notTrusted(/symbolic link of user 4001/u));
    await assert.rejects(
      ensurePrivateDirectory(join(link, 'workspace')),
      notTrusted(/symbolic link of user 4001/u),
    );
    await symlink(foreign, join(own, 'workspace'));
    await assert.rejects(
      ensurePrivateDirectory(join(own, 'workspace'), options),
      notTrusted(/belongs to user 4001/u),
    );
    assert.deepEqual(await readdir(own), ['workspace']);
  });

  test('a folder that the other may write, as one that all may', async (t) => {
    const { own } = await makeDirectories(t);
    const shared = join(own, 'shared');
    await mkdir(shared);
    await chmod(shared, 0o777);
    await assert.rejects(
      ensurePrivateDirectory(join(shared, 'workspace')),
      notTrusted(/chmod go-w '.*shared'/u),
    );
    await chown(shared, 0, other);
    await chmod(shared, 0o770);
    await assert.rejects(
      ensurePrivateDirectory(join(shared, 'workspace')),
      notTrusted(/chmod go-w '.*shared'/u),
    );
  });
});

test('a folder of the user is used by its path without links, below /tmp too, and stays private', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'own-folder-'));
  t.after(() => rm(directory, { recursive: true }));
  await mkdir(join(directory, 'real'), { mode: 0o700 });
  await symlink('real', join(directory, 'link'));
  const made = await ensurePrivateDirectory(join(directory, 'link', 'a', 'workspace'));
  assert.equal(made, join(directory, 'real', 'a', 'workspace'));
  assert.equal(
    await ensurePrivateDirectory(join(directory, 'link'), { mayBeLink: true }),
    join(directory, 'real'),
  );
  await assert.rejects(ensurePrivateDirectory(join(directory, 'link')), notTrusted(/is a symbolic link/u));
});
