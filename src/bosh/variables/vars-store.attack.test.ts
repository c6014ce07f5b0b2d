import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmod, chown, lchown, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { toValue } from '../yaml/yaml-node.ts';
import { VarsStore } from './vars-store.ts';

const nobody = 65534;
const withoutRoot = process.getuid?.() === 0 ? false : 'needs root, to be another user';

async function password(path: string): Promise<unknown> {
  const store = new VarsStore({ path, generate: async () => 'made', operatorValues: new Map() });
  const node = await store.get({ name: 'password', type: 'password' });
  return node && toValue(node);
}

test('a vars store that group or others can read gets mode 0600 before its use', async (t) => {
  const path = join(await scratchDirectory(t), 'vars.yml');
  for (const mode of [0o644, 0o640, 0o666, 0o660]) {
    await writeFile(path, 'password: kept\n');
    await chmod(path, mode);
    assert.equal(await password(path), 'kept');
    assert.equal((await stat(path)).mode & 0o777, 0o600, mode.toString(8));
  }
});

test(
  "another user's vars store is refused, because that user knows its secrets",
  { skip: withoutRoot },
  async (t) => {
    const path = join(await scratchDirectory(t), 'vars.yml');
    await writeFile(path, 'password: known\n', { mode: 0o600 });
    await chown(path, nobody, nobody);
    await assert.rejects(password(path), { code: 'FILE_NOT_TRUSTED', message: /vars\.yml'.*user 65534/ });
  },
);

test(
  "another user's link at the path of the vars store is not followed",
  { skip: withoutRoot },
  async (t) => {
    const directory = await scratchDirectory(t);
    const [path, victim] = [join(directory, 'vars.yml'), join(directory, 'victim')];
    await writeFile(victim, 'password: whole\n');
    await symlink('victim', path);
    assert.equal(await password(path), 'whole', "one's own link is followed");
    await lchown(path, nobody, nobody);
    await assert.rejects(password(path), {
      code: 'FILE_NOT_TRUSTED',
      message: /vars\.yml' is a symbolic link/,
    });
    assert.equal(await readFile(victim, 'utf8'), 'password: whole\n');
  },
);

test('a pipe as vars store is refused at once', async (t) => {
  const path = join(await scratchDirectory(t), 'vars.yml');
  execFileSync('mkfifo', [path]);
  await assert.rejects(password(path), { code: 'FILE_NOT_TRUSTED', message: /vars\.yml'.*no regular file/ });
});

test('a link at the path of a temporary file of the store is not followed', async (t) => {
  const directory = await scratchDirectory(t);
  const [path, victim] = [join(directory, 'vars.yml'), join(directory, 'victim')];
  await writeFile(victim, 'whole');
  for (const suffix of ['.tmp', '.new']) await symlink(victim, `${path}${suffix}`);
  assert.equal(await password(path), 'made');
  assert.equal(await readFile(victim, 'utf8'), 'whole');
});
