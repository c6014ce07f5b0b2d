import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import { mediaTypes } from '../oci/image-source.ts';
import { convertStemcell } from './convert-stemcell.ts';
import { publishStemcell } from './write-stemcell.ts';
import { sampleBoshRoot, lookAlikeStemcell } from './testing/look-alike.ts';

const run = promisify(execFile);

interface Bench {
  readonly directory: string;
  /** `build` builds into a folder of the test. `fails` expects it to fail and to change nothing. */
  readonly build: (output: string, source?: string) => Promise<void>;
  readonly fails: (output: string, message: RegExp) => Promise<void>;
}

async function bench(t: TestContext): Promise<Bench> {
  const directory = await scratchDirectory(t);
  const stemcell = await lookAlikeStemcell(directory);
  const build = async (output: string, source = stemcell): Promise<void> => {
    const { signal } = t;
    const options = { architecture: 'amd64', epoch: 0, warn: () => undefined, signal } as const;
    await convertStemcell({ ...options, source, output: join(directory, output) });
    const names = await readdir(join(directory, output));
    assert.deepEqual(names.toSorted(), ['image', 'stemcell.tgz']);
  };
  return {
    directory,
    build,
    async fails(output, message) {
      const before = await readdir(directory, { recursive: true });
      await assert.rejects(build(output), { code: 'FILE_EXISTS', message }, String(message));
      assert.deepEqual(await readdir(directory, { recursive: true }), before);
    },
  };
}

test('a stemcell is written to an empty directory, also through a link', async (t) => {
  const { directory, build, fails } = await bench(t);
  await mkdir(join(directory, 'elsewhere', 'empty'), { recursive: true });
  await symlink('elsewhere/empty', join(directory, 'out'));
  await build('out');
  assert.deepEqual(await readdir(join(directory, 'elsewhere')), ['empty']);
  await fails('out', /out' already exists and is not empty; remove it, or name another/);
  await symlink('elsewhere', join(directory, 'link'));
  await build('link/new');
  await symlink('nowhere', join(directory, 'dangling'));
  await fails('dangling', /dangling' is a symbolic link without a target/);
});

test('a file at the output path or above it is named', async (t) => {
  const { directory, fails } = await bench(t);
  await writeFile(join(directory, 'f1'), '');
  await fails('f1', /^'[^']*\/f1' is a file, or name another folder/);
  await fails('f1/x', /^'[^']*\/f1' is a file/);
  await fails('f1/x/y', /^'[^']*\/f1' is a file/);
});

test('a failed build removes the directories that it created, and no other', async (t) => {
  const { directory, build } = await bench(t);
  const agentless = join(directory, 'root.tar');
  await writeFile(agentless, await sampleBoshRoot({ header: { name: '../x', size: 0 } }));
  const before = await readdir(directory);
  await assert.rejects(build('deep/a/b', agentless));
  assert.deepEqual(await readdir(directory), before);
  await mkdir(join(directory, 'deep'));
  await assert.rejects(build('deep/a/b', agentless));
  assert.deepEqual(await readdir(join(directory, 'deep')), []);
  await build('deep/a/b');
});

test('the second of two builds into one directory gets an error, and the first is not disturbed', async (t) => {
  const { directory, build, fails } = await bench(t);
  const other = spawn('sleep', ['60'], { stdio: 'ignore' });
  t.after(() => other.kill());
  const foreignPath = join(directory, `.out.partial.${other.pid}`);
  await mkdir(join(foreignPath, 'image'), { recursive: true });
  await fails('out', new RegExp(`Another build, process ${other.pid}, is writing '.*out': wait for it`));
  await build('other');
  const ended = new Promise((resolve) => other.on('close', resolve));
  other.kill();
  await ended;
  await mkdir(join(directory, '.out.partial.notes'));
  await mkdir(join(directory, `.out.partial.${process.pid}`, 'image'), { recursive: true });
  await build('out');
  assert.deepEqual(
    (await readdir(directory)).filter((name) => name.startsWith('.')),
    ['.out.partial.notes'],
  );
});

test('output that another build wrote in the meantime is kept, and the error names it', async (t) => {
  const directory = await scratchDirectory(t);
  const output = join(directory, 'out');
  const parts = {
    name: 'n',
    version: '1',
    operatingSystem: 'x',
    image: 'a.example/b:1',
    architecture: 'amd64',
    agent: {},
  };
  const made = publishStemcell(output, t.signal, async (blobs) => {
    await mkdir(join(output, 'image'), { recursive: true });
    return { ...parts, files: {}, manifest: await blobs.add(mediaTypes.manifest, [Buffer.from('{}')]) };
  });
  await assert.rejects(made, {
    code: 'FILE_EXISTS',
    message: /^'.*out' was written by another build in the meantime/,
  });
  assert.deepEqual(await readdir(directory, { recursive: true }), ['out', 'out/image']);
});

test('a mount point is refused, because a finished directory cannot replace it', async (t) => {
  const { directory, fails } = await bench(t);
  const path = join(directory, 'mount point');
  await mkdir(path);
  const mounted = await run('mount', ['-t', 'tmpfs', 'none', path]).then(
    () => true,
    () => false,
  );
  if (!mounted) return t.skip('needs the right to mount');
  try {
    await fails('mount point', /mount point' is a mount point/);
  } finally {
    // The unmount must come before the removal of the folder.
    await run('umount', [path]);
  }
});
