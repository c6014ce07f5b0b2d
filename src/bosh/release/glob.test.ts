import assert from 'node:assert/strict';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { scratchDirectory } from '../testing/scratch.ts';
import { expandAlternatives, globFiles } from './glob.ts';

const files = ['a.go', 'b.txt', '.dot', 'x/a.go', 'x/y/a.go', 'x/y/b.txt', 'x/[z]', 'x-1/c.go', 'x/é.go', 'x/*'];

test('patterns match the same files as in the bosh CLI', async (t) => {
  const root = await scratchDirectory(t);
  for (const file of files) {
    await mkdir(dirname(join(root, file)), { recursive: true });
    await writeFile(join(root, file), '');
  }
  await symlink('x', join(root, 'link'));
  await symlink('a.go', join(root, 'x', 'self'));
  const cases: Readonly<Record<string, readonly string[]>> = {
    '*': ['.dot', 'a.go', 'b.txt', 'link'],
    '*.go': ['a.go'],
    '**/*.go': ['a.go', 'x-1/c.go', 'x/a.go', 'x/y/a.go', 'x/é.go'],
    '**/*': ['.dot', 'a.go', 'b.txt', 'link', 'x-1/c.go', 'x/*', 'x/[z]', 'x/a.go', 'x/self', 'x/y/a.go', 'x/y/b.txt', 'x/é.go'],
    'x/**': ['x/*', 'x/[z]', 'x/a.go', 'x/self', 'x/y/a.go', 'x/y/b.txt', 'x/é.go'],
    'x/**/b.*': ['x/y/b.txt'],
    'x/?.go': ['x/a.go', 'x/é.go'],
    'x{,-1}/*.go': ['x-1/c.go', 'x/a.go', 'x/é.go'],
    '{a.go,x/y/{a,b}.*}': ['a.go', 'x/y/a.go', 'x/y/b.txt'],
    '[ab].*': ['a.go', 'b.txt'],
    '[^a].*': ['b.txt'],
    '[a-a].go': ['a.go'],
    'x/\\[z\\]': ['x/[z]'],
    'x/\\*': ['x/*'],
    './a.go': ['a.go'],
    'link/a.go': [],
    x: [],
    none: [],
    '../*': [],
  };
  for (const [pattern, expected] of Object.entries(cases)) {
    assert.deepEqual(await globFiles(root, pattern), expected, pattern);
  }
  assert.deepEqual(await globFiles(join(root, 'nowhere'), '**'), []);
});

test('a character class matches the same characters as in the bosh CLI', async (t) => {
  const root = await scratchDirectory(t);
  for (const file of ['d', '5', 'a', 'z', '-', ']', '^', '[']) await writeFile(join(root, file), '');
  const cases: Readonly<Record<string, string>> = {
    '[z-a]': '',
    [String.raw`[\a]`]: 'a',
    [String.raw`[\d]`]: 'd',
    [String.raw`[a-\z]`]: 'adz',
    [String.raw`[\--a]`]: '-5[]^a',
    [String.raw`[\]]`]: ']',
    '[[]': '[',
    '[&&a]': 'a',
    '[!a]': 'a',
    '[^^]': '-5[]adz',
    '[^]': '-5[]^adz',
  };
  for (const [pattern, expected] of Object.entries(cases))
    assert.equal((await globFiles(root, pattern)).join(''), expected, pattern);
});

test('no pattern takes long', { timeout: 60_000 }, async (t) => {
  const root = await scratchDirectory(t);
  const directory = join(root, ...Array.from({ length: 40 }, (_, index) => `d${index}`));
  await mkdir(directory, { recursive: true });
  const name = 'a'.repeat(200);
  await writeFile(join(directory, name), '');
  const path = relative(root, join(directory, name));
  assert.deepEqual(await globFiles(root, `${'**/'.repeat(30)}${'*a'.repeat(60)}`), [path]);
  assert.deepEqual(await globFiles(root, `${'**/*/'.repeat(12)}a*`), [path]);
  assert.deepEqual(await globFiles(root, `**/${'*a'.repeat(60)}b`), []);
  const invalid = { code: 'RELEASE_INVALID', message: /expands to more than 10000 patterns/ };
  await assert.rejects(globFiles(root, '{a,b}'.repeat(40)), invalid);
  await assert.rejects(globFiles(root, `${'{a,b}'.repeat(13)}${'x'.repeat(1_000_000)}`), {
    code: 'RELEASE_INVALID',
    message: /or more than 1000000 characters in total/,
  });
  assert.deepEqual(await globFiles(root, '['.repeat(300_000)), []);
  const stopped = AbortSignal.abort();
  await assert.rejects(globFiles(root, '**', stopped), { code: 'INTERRUPTED' });
});

test('alternatives are expanded, also nested ones', () => {
  assert.deepEqual(expandAlternatives('a{b,c{d,e}}f'), ['abf', 'acdf', 'acef']);
  assert.deepEqual(expandAlternatives('{a,b}{1,2}'), ['a1', 'a2', 'b1', 'b2']);
  assert.deepEqual(expandAlternatives('open{a'), ['open{a']);
  assert.deepEqual(expandAlternatives('\\{a,b}'), ['\\{a,b}']);
});

test('property: a literal name matches itself', async (t) => {
  const root = await scratchDirectory(t);
  const name = fc.stringMatching(/^[a-z0-9 .+()$^|[\]{}*?,!-]{1,12}$/).filter((text) => !/^\.+$/.test(text));
  await fc.assert(
    fc.asyncProperty(name, async (file) => {
      await writeFile(join(root, file), '');
      const pattern = file.replaceAll(/[*?[\]{}\\,]/g, String.raw`\$&`);
      assert.deepEqual(await globFiles(root, pattern), [file]);
    }),
    { numRuns: 50 },
  );
});
