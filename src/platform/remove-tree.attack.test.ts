import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { removeTree } from './remove-tree.ts';

async function makeDirectories(t: TestContext): Promise<{ within: string; victim: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-remove-'));
  t.after(() => rm(directory, { recursive: true }));
  const [within, victim] = [join(directory, 'within'), join(directory, 'victim')];
  for (const path of [within, victim]) await mkdir(path);
  await writeFile(join(victim, 'file'), '');
  return { within, victim };
}

test('a path with .. and the folder itself are refused', async (t) => {
  const { within, victim } = await makeDirectories(t);
  await mkdir(`${within}-beside`);
  for (const path of [join(within, '../victim'), `${within}-beside`, within, join(within, 'a/..'), '/'])
    await assert.rejects(removeTree(path, { within }), { code: 'PATH_OUTSIDE' }, path);
  assert.ok(existsSync(join(victim, 'file')));
  assert.ok(existsSync(`${within}-beside`));
});

test('a link on the way is refused, and a link at the end is removed as a link', async (t) => {
  const { within, victim } = await makeDirectories(t);
  await mkdir(join(victim, 'jobs'));
  await symlink(victim, join(within, 'link'));

  await assert.rejects(removeTree(join(within, 'link', 'jobs'), { within }), { code: 'PATH_OUTSIDE' });
  assert.ok(existsSync(join(victim, 'jobs')));

  await removeTree(join(within, 'link'), { within });
  assert.equal(existsSync(join(within, 'link')), false);
  assert.ok(existsSync(join(victim, 'file')));
});

test('what lies in the folder goes, also where the folder is reached by a link', async (t) => {
  const { within, victim } = await makeDirectories(t);
  await mkdir(join(within, 'a/b'), { recursive: true });
  await symlink(within, join(victim, 'workspace'));
  await removeTree(join(victim, 'workspace', 'a'), { within: join(victim, 'workspace') });
  assert.equal(existsSync(join(within, 'a')), false);
  await removeTree(join(within, 'absent/x'), { within });
});

test('nothing else in src removes recursively, and no text is called a path segment unparsed', async () => {
  const source = join(import.meta.dirname, '..');
  // the agent removes files inside its VM; only TypeScript is checked
  const files = (await readdir(source, { recursive: true })).filter(
    (path) => path.endsWith('.ts') && !/\.test\.ts$|(^|\/)testing\/|^agent\//.test(path),
  );
  assert.ok(files.length > 500, String(files.length));
  const [removing, casting]: [string[], string[]] = [[], []];
  for (const file of files) {
    const text = await readFile(join(source, file), 'utf8');
    if (/\brm(Sync|dir|dirSync)?\([^;]*recursive/.test(text)) removing.push(file);
    if (/as PathSegment\b/.test(text)) casting.push(file);
  }
  assert.deepEqual(removing, ['platform/remove-tree.ts']);
  assert.deepEqual(casting, ['bosh/yaml/yaml-field.ts'], 'a constant there');
});
