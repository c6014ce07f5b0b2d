import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { unpackArchive } from '../../bosh/archive/unpack-archive.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import type { ImageSource } from '../../oci/image-source.ts';
import { openLayout } from '../../oci/layout/open-layout.ts';
import type { LoadBench } from '../testing/load-bench.ts';
import { loadBench, loadedName } from '../testing/load-bench.ts';
import { loadStemcell } from './load-stemcell.ts';

const recordedArgs = async ({ directory }: LoadBench): Promise<string[]> =>
  (await readFile(join(directory, 'words'), 'utf8')).trimEnd().split('\n');

/** Returns the names of the image in the archive. Checks that the archive contains every blob. */
async function namesIn({ directory, image }: LoadBench, archive: string): Promise<unknown[]> {
  const out = join(directory, 'unpacked');
  await unpackArchive(join(directory, archive), out);
  const path = join(out, 'index.json');
  const index = JSON.parse(await readFile(path, 'utf8')) as {
    manifests: { annotations: Record<string, string> }[];
  };
  // Opened under each name in turn: there is one image with several names.
  for (const manifest of index.manifests) {
    await writeFile(path, JSON.stringify({ ...index, manifests: [manifest] }));
    assert.deepEqual((await openLayout(out)).descriptor.digest, image.descriptor.digest);
  }
  return index.manifests.map(({ annotations }) => annotations['io.containerd.image.name']);
}

test('containerd reads the image from stdin and knows it by tag and by digest', async (t) => {
  const bench = await loadBench(t);
  await bench.load({ kind: 'containerd', address: '/run/k3s/containerd/containerd.sock' });
  assert.deepEqual(await recordedArgs(bench), [
    ...['--address', '/run/k3s/containerd/containerd.sock'],
    ...['--namespace', 'k8s.io', 'images', 'import', '-'],
  ]);
  assert.deepEqual(await namesIn(bench, 'stdin'), [
    'registry.example/stemcells/noble:1.10',
    `registry.example/stemcells/noble@${bench.image.descriptor.digest}`,
  ]);
  await bench.load({ kind: 'containerd', address: undefined });
  assert.deepEqual(await recordedArgs(bench), ['--namespace', 'k8s.io', 'images', 'import', '-']);
});

test('kind gets a file, which is removed at the end', async (t) => {
  const bench = await loadBench(t);
  await bench.load({ kind: 'kind', cluster: 'lab' }, { TMPDIR: bench.directory });
  const [load, archive, file, ...rest] = await recordedArgs(bench);
  assert.deepEqual([load, archive, ...rest], ['load', 'image-archive', '--name', 'lab']);
  assert.ok(file !== undefined && file.endsWith('/image.tar'));
  await assert.rejects(readFile(file), { code: 'ENOENT' });
  assert.equal((await namesIn(bench, 'archive.tar')).length, 2);
  assert.equal((await readFile(join(bench.directory, 'stdin'))).length, 0);
});

/** Sets the directory for this process's temporary files until the test ends. */
async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await scratchDirectory(t);
  const previous = process.env['TMPDIR'];
  process.env['TMPDIR'] = directory;
  t.after(() => {
    if (previous === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = previous;
  });
  return directory;
}

test('the file for kind is also removed when kind fails', async (t) => {
  const bench = await loadBench(t);
  const temporary = await temporaryDirectory(t);
  const failing = bench.load({ kind: 'kind', cluster: 'lab' }, { FAIL: 'no nodes' });
  await assert.rejects(failing, { code: 'STEMCELL_LOAD_FAILED', message: /cannot: no nodes/ });
  const file = (await recordedArgs(bench))[2] ?? '';
  assert.ok(file.startsWith(join(temporary, 'bosh-kubernetes-load-')), file);
  assert.deepEqual(await readdir(temporary), []);
});

/** Resolves when a file of this name below a directory has content. */
async function somethingIn(directory: string, file: string): Promise<void> {
  for (;;) {
    const names = await readdir(directory, { recursive: true });
    const path = names.find((name) => basename(name) === file);
    if (path !== undefined && (await stat(join(directory, path))).size > 0) return;
    await setTimeout(5);
  }
}

test('the file for kind is also removed when an interrupt stops the copy', async (t) => {
  const { directory, image } = await loadBench(t);
  const temporary = await temporaryDirectory(t);
  const interruption = new AbortController();
  const interrupted: ImageSource = {
    ...image,
    open: (blob) =>
      Readable.from(
        (async function* () {
          await somethingIn(temporary, 'image.tar');
          interruption.abort(new Error('interrupted by SIGINT'));
          yield* image.open(blob) as AsyncIterable<Uint8Array>;
        })(),
      ),
  };
  const environment = { PATH: process.env['PATH'], NOTES: directory };
  const loading = loadStemcell(
    interrupted,
    loadedName,
    { kind: 'kind', cluster: 'lab' },
    { environment, signal: interruption.signal },
  );
  await assert.rejects(loading, /interrupted by SIGINT/);
  assert.deepEqual(await readdir(temporary), []);
});

test('minikube reads the image from stdin', async (t) => {
  const bench = await loadBench(t);
  await bench.load({ kind: 'minikube', profile: 'lab' });
  assert.deepEqual(await recordedArgs(bench), ['--profile', 'lab', 'image', 'load', '-']);
  assert.equal((await namesIn(bench, 'stdin')).length, 2);
});

test('a failing program, or a missing one, is quoted', async (t) => {
  const bench = await loadBench(t);
  const failing = bench.load({ kind: 'containerd', address: undefined }, { FAIL: 'no socket' });
  await assert.rejects(failing, {
    code: 'STEMCELL_LOAD_FAILED',
    message: /'ctr' ended with 3: cannot: no socket/,
  });
  const missing = bench.load({ kind: 'kind', cluster: 'kind' }, { PATH: bench.directory });
  await assert.rejects(missing, { code: 'STEMCELL_LOAD_FAILED', message: /'kind' is not on PATH/ });
});

test('a damaged image is not passed on as complete', async (t) => {
  const bench = await loadBench(t);
  const [layer] = bench.image.layers;
  assert.ok(layer);
  await writeFile(join(bench.layout, 'blobs', 'sha256', layer.digest.slice(7)), Buffer.alloc(layer.size));
  const loading = bench.load({ kind: 'containerd', address: undefined });
  await assert.rejects(loading, { code: 'DIGEST_MISMATCH', message: new RegExp(layer.digest.slice(7)) });
  assert.ok(!(await readdir(bench.directory)).includes('archive.tar'));
});
