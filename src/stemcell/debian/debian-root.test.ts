import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { packTar } from 'modern-tar';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import type { Descriptor } from '../../oci/image-source.ts';
import { fakeMmdebstrap } from '../testing/fake-mmdebstrap.ts';
import type { DebianRoot } from './debian-root.ts';
import { debianRoot } from './debian-root.ts';
import { rootRequest } from './root-request.ts';

const request = rootRequest({
  suite: 'bookworm',
  profile: 'baseline',
  hasCompilers: true,
  mirrors: [],
  include: ['vim'],
  epoch: 5,
});

interface Bench {
  readonly directory: string;
  readonly cache: string;
  readonly make: (options?: {
    isOffline?: boolean;
    user?: number;
    path?: string;
    signal?: AbortSignal;
  }) => Promise<DebianRoot>;
  readonly calls: () => Promise<string[]>;
}

async function workbench(t: TestContext): Promise<Bench> {
  const directory = await scratchDirectory(t);
  const { PATH, NOTES } = await fakeMmdebstrap(directory);
  const cache = join(directory, 'cache');
  return {
    directory,
    cache,
    make: ({ isOffline = false, user = 0, path = PATH, signal = t.signal } = {}) =>
      debianRoot(
        request,
        { directory: cache, isOffline, architecture: 'arm64', log: () => undefined },
        { signal, environment: { PATH: path, NOTES }, user },
      ),
    calls: async () => (await readFile(join(directory, 'calls'), 'utf8')).trimEnd().split('\n'),
  };
}

const count = (calls: readonly string[], what: string): number =>
  calls.filter((call) => call.startsWith(what)).length;

test('a root is made once for its packages, and again when the mirrors have newer ones', async (t) => {
  const { directory, cache, make, calls } = await workbench(t);
  const first = await make();
  assert.equal(first.packages, 'bash 5.2\nvim 9.0\n');
  const made = (await calls()).at(-1) ?? '';
  assert.match(made, /^make 5 --mode=root .*--include=\S*,vim( |,).* bookworm -$/);
  assert.deepEqual((await make()).descriptor, first.descriptor);
  assert.equal(count(await calls(), 'make'), 1);
  await writeFile(join(directory, 'offered'), 'bash 5.2\nvim 9.1\n');
  assert.equal((await make()).packages, 'bash 5.2\nvim 9.1\n');
  assert.equal(count(await calls(), 'make'), 2);
  assert.equal((await readdir(cache)).length, 2);
});

test('the newest cached root is used without a query, and the mirrors are queried if there is none', async (t) => {
  const { directory, make, calls } = await workbench(t);
  const first = await make({ isOffline: true });
  await writeFile(join(directory, 'offered'), 'bash 6\n');
  assert.deepEqual((await make({ isOffline: true })).descriptor, first.descriptor);
  assert.deepEqual([count(await calls(), 'simulate'), count(await calls(), 'make')], [1, 1]);
  // It needs neither root nor mmdebstrap.
  await make({ isOffline: true, user: 1000, path: directory });
});

test('a cached root that was damaged anywhere is made again', async (t) => {
  const { cache, make, calls } = await workbench(t);
  const { image } = await make();
  const [name] = await readdir(cache);
  assert.ok(name !== undefined);
  const entry = join(cache, name);
  const blob = ({ digest }: Descriptor): string => join(entry, 'image', 'blobs', 'sha256', digest.slice(7));
  const [layer] = image.layers;
  assert.ok(layer !== undefined);
  const damages: readonly (() => Promise<void>)[] = [
    () => writeFile(blob(image.descriptor), 'x'.repeat(image.manifest.length)),
    () => writeFile(blob(image.config), 'x'.repeat(image.config.size)),
    () => writeFile(blob(layer), 'x'.repeat(layer.size)),
    () => truncate(blob(layer), layer.size - 1),
    () => rm(blob(layer)),
    () => truncate(join(entry, 'packages.txt')),
    () => rm(join(entry, 'packages.txt')),
  ];
  for (const [index, damage] of damages.entries()) {
    await damage();
    const made = await make({ isOffline: index % 2 === 0 });
    assert.deepEqual([made.image.descriptor, made.packages], [image.descriptor, 'bash 5.2\nvim 9.0\n']);
    assert.equal(count(await calls(), 'make'), index + 2);
    assert.deepEqual(await readFile(blob(layer)), await buffer(made.image.open(layer)));
  }
});

test("a root whose packages cannot be read from mmdebstrap's output is not made, because all such lists are equal", async (t) => {
  const { directory, cache, make } = await workbench(t);
  await writeFile(join(directory, 'offered'), '');
  await assert.rejects(make(), {
    code: 'STEMCELL_BUILD_FAILED',
    message: /lists no package to install/,
  });
  assert.deepEqual(await readdir(cache), []);
});

test('the output of a failed mmdebstrap is shown, and no root is cached', async (t) => {
  const { directory, cache, make } = await workbench(t);
  await writeFile(join(directory, 'broken'), '');
  await assert.rejects(make(), {
    code: 'STEMCELL_BUILD_FAILED',
    message: /mmdebstrap ended with 25; nothing was published.*\n {2}E: no such package$/,
  });
  assert.deepEqual(await readdir(cache), []);
});

test("the cause of mmdebstrap's end is reported, and not its signal", async (t) => {
  const { directory, cache, make } = await workbench(t);
  const long = 'x'.repeat(3_000_000);
  const tar = await packTar([
    { header: { name: '../x', size: 1 }, body: 'x' },
    { header: { name: 'long', size: long.length }, body: long },
  ]);
  await writeFile(join(directory, 'root.tar'), tar);
  await assert.rejects(make(), { code: 'ARCHIVE_INVALID', message: /'\.\.\/x' lies outside/ });
  assert.deepEqual(await readdir(cache), []);
});

test('an interrupt waits until mmdebstrap has removed its root, and no root is cached', async (t) => {
  const { directory, cache, make } = await workbench(t);
  await writeFile(join(directory, 'slow'), '');
  const interruption = new AbortController();
  const made = make({ signal: interruption.signal });
  const root = join(directory, 'root');
  while (!existsSync(root)) await setTimeout(5);
  interruption.abort(new Error('interrupted by SIGINT'));
  await assert.rejects(made, /interrupted by SIGINT/u);
  assert.ok(!existsSync(root), 'the temporary root is gone');
  assert.ok(existsSync(join(directory, 'helper-asked')), 'what it runs was asked to end, too');
  assert.deepEqual(await readdir(cache), []);
});

test('the files of a killed build are removed by the next, and those of a running build are not', async (t) => {
  const { cache, make } = await workbench(t);
  const ended = join(cache, '.key-list.4194305'); // larger than any pid
  const running = join(cache, `.key-list.${process.ppid}`);
  await mkdir(ended, { recursive: true });
  await mkdir(running);
  await make();
  const names = await readdir(cache);
  assert.ok(names.includes(`.key-list.${process.ppid}`));
  assert.ok(!names.includes('.key-list.4194305'));
});

test('a machine that cannot make a root is reported with the missing prerequisites', async (t) => {
  const { directory, make } = await workbench(t);
  await assert.rejects(make({ user: 1000 }), {
    code: 'STEMCELL_BUILD_UNSUPPORTED',
    message: /because it lacks root \(sudo\)/,
  });
  await assert.rejects(make({ path: directory }), {
    code: 'STEMCELL_BUILD_UNSUPPORTED',
    message: /mmdebstrap \(apt-get install mmdebstrap\)/,
  });
});
