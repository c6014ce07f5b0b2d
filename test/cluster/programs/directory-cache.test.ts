import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { cachedDirectory } from './directory-cache.ts';

const key = (digit: string): string => digit.repeat(12);

test('a stemcell is made once, also if several processes request it at the same time', async (t) => {
  const cache = await scratch(t);
  let made = 0;
  const ask = (): Promise<string> =>
    cachedDirectory(
      'baseline',
      key('a'),
      async (directory) => {
        made += 1;
        await mkdir(directory);
      },
      { cache },
    );
  assert.deepEqual(
    new Set(await Promise.all([ask(), ask()])),
    new Set([join(cache, `baseline-${key('a')}`)]),
  );
  assert.equal(made, 1);
});

test('a directory that was not requested for a day is removed with its files when another of its kind is created', async (t) => {
  const cache = await scratch(t);
  const make = async (directory: string): Promise<void> => {
    await mkdir(directory);
    await writeFile(`${directory}-heavy.tgz`, '');
  };
  for (const [kind, digit] of [
    ['stock-runit', 'a'],
    ['stock-runit', 'b'],
    ['stock', 'c'],
  ] as const)
    await cachedDirectory(kind, key(digit), make, { cache });
  const old = new Date(Date.now() - 25 * 60 * 60 * 1000);
  for (const name of [`stock-runit-${key('a')}`, `stock-${key('c')}`])
    await utimes(join(cache, name), old, old);

  await cachedDirectory('stock-runit', key('d'), make, { cache });
  assert.deepEqual(
    (await readdir(cache)).filter((name) => /[0-9a-f]{12}$/u.test(name)).toSorted(),
    ['b', 'd']
      .map((digit) => `stock-runit-${key(digit)}`)
      .concat(`stock-${key('c')}`)
      .toSorted(),
  );
  assert.ok(!(await readdir(cache)).includes(`stock-runit-${key('a')}-heavy.tgz`));
});

async function scratch(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'folder-cache-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}
