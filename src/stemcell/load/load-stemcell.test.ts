import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { unpackArchive } from '../../bosh/archive/unpack-archive.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { parseImageName } from '../../oci/image-name.ts';
import type { ImageSource } from '../../oci/image-source.ts';
import { openLayout } from '../../oci/layout/open-layout.ts';
import { convertStemcell } from '../convert-stemcell.ts';
import { lookAlikeStemcell } from '../testing/look-alike.ts';
import type { Destination } from './destination.ts';
import { loadStemcell } from './load-stemcell.ts';

const name = parseImageName('registry.example/stemcells/noble:1.10');

interface Bench {
  readonly directory: string;
  readonly layout: string;
  readonly image: ImageSource;
  readonly load: (destination: Destination, environment?: Record<string, string>) => Promise<void>;
}

/** Programs of these names note their words and their input, and end as $FAIL says. */
async function workbench(t: TestContext): Promise<Bench> {
  const directory = await scratchDirectory(t);
  const bin = join(directory, 'bin');
  await mkdir(bin);
  const script = `#!/bin/sh
printf '%s\\n' "$@" > "$NOTES/words"
if [ -n "\${FAIL:-}" ]; then echo "cannot: $FAIL" >&2; exit 3; fi
for word in "$@"; do if [ -f "$word" ]; then cat "$word" > "$NOTES/archive.tar"; fi; done
cat > "$NOTES/stdin"
`;
  for (const program of ['ctr', 'kind', 'minikube'])
    await writeFile(join(bin, program), script, { mode: 0o755 });
  const source = await lookAlikeStemcell(directory);
  const { layout } = await convertStemcell({
    source,
    output: join(directory, 'stemcell'),
    architecture: 'amd64',
    epoch: 0,
    signal: t.signal,
  });
  const image = await openLayout(layout);
  const path = `${bin}${delimiter}${process.env['PATH']}`;
  return {
    directory,
    layout,
    image,
    load: (destination, environment = {}) =>
      loadStemcell(image, name, destination, {
        environment: { PATH: path, NOTES: directory, ...environment },
        signal: t.signal,
      }),
  };
}

const words = async ({ directory }: Bench): Promise<string[]> =>
  (await readFile(join(directory, 'words'), 'utf8')).trimEnd().split('\n');

/** The names under which the archive has the image, having found every blob of it in there. */
async function namesIn({ directory, image }: Bench, archive: string): Promise<unknown[]> {
  const out = join(directory, 'unpacked');
  await unpackArchive(join(directory, archive), out);
  const opened = await openLayout(out, { reference: `registry.example/stemcells/noble:1.10` });
  assert.deepEqual(opened.descriptor.digest, image.descriptor.digest);
  const index = JSON.parse(await readFile(join(out, 'index.json'), 'utf8')) as {
    manifests: { annotations: Record<string, string> }[];
  };
  return index.manifests.map(({ annotations }) => annotations['io.containerd.image.name']);
}

test('containerd reads the image from stdin and gets it by tag and by digest', async (t) => {
  const bench = await workbench(t);
  await bench.load({ kind: 'containerd', address: '/run/k3s/containerd/containerd.sock' });
  assert.deepEqual(await words(bench), [
    ...['--address', '/run/k3s/containerd/containerd.sock'],
    ...['--namespace', 'k8s.io', 'images', 'import', '-'],
  ]);
  assert.deepEqual(await namesIn(bench, 'stdin'), [
    'registry.example/stemcells/noble:1.10',
    `registry.example/stemcells/noble@${bench.image.descriptor.digest}`,
  ]);
  await bench.load({ kind: 'containerd', address: undefined });
  assert.deepEqual(await words(bench), ['--namespace', 'k8s.io', 'images', 'import', '-']);
});

test('kind gets a file, which goes when it is done', async (t) => {
  const bench = await workbench(t);
  await bench.load({ kind: 'kind', cluster: 'lab' }, { TMPDIR: bench.directory });
  const [load, archive, file, ...rest] = await words(bench);
  assert.deepEqual([load, archive, ...rest], ['load', 'image-archive', '--name', 'lab']);
  assert.ok(file !== undefined && file.endsWith('/image.tar'));
  await assert.rejects(readFile(file), { code: 'ENOENT' });
  assert.equal((await namesIn(bench, 'archive.tar')).length, 2);
  assert.equal((await readFile(join(bench.directory, 'stdin'))).length, 0);
});

test('minikube reads the image from stdin', async (t) => {
  const bench = await workbench(t);
  await bench.load({ kind: 'minikube', profile: 'lab' });
  assert.deepEqual(await words(bench), ['--profile', 'lab', 'image', 'load', '-']);
  assert.equal((await namesIn(bench, 'stdin')).length, 2);
});

test('a program that fails, or is not there, is quoted', async (t) => {
  const bench = await workbench(t);
  const failing = bench.load({ kind: 'containerd', address: undefined }, { FAIL: 'no socket' });
  await assert.rejects(failing, {
    code: 'STEMCELL_LOAD_FAILED',
    message: /'ctr' ended with 3: cannot: no socket/,
  });
  const missing = bench.load({ kind: 'kind', cluster: 'kind' }, { PATH: bench.directory });
  await assert.rejects(missing, { code: 'STEMCELL_LOAD_FAILED', message: /'kind' is not on PATH/ });
});

test('a damaged image is not given to anybody as whole', async (t) => {
  const bench = await workbench(t);
  const [layer] = bench.image.layers;
  assert.ok(layer);
  await writeFile(join(bench.layout, 'blobs', 'sha256', layer.digest.slice(7)), Buffer.alloc(layer.size));
  const loading = bench.load({ kind: 'containerd', address: undefined });
  await assert.rejects(loading, { code: 'DIGEST_MISMATCH', message: new RegExp(layer.digest.slice(7)) });
  assert.ok(!(await readdir(bench.directory)).includes('archive.tar'));
});
