import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { packArchive } from '../archive/pack-archive.ts';
import { digestOfFile } from '../digest.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { openStemcell } from './open-stemcell.ts';
import { packLightStemcell } from './pack-light-stemcell.ts';

const light = {
  name: 'embedded',
  version: '1.10',
  operatingSystem: 'ubuntu-noble',
  imageReference: 'registry.example/stemcell:1',
  cloudProperties: { os: 'linux' },
};

test('a light stemcell is read back as it was packed', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 's.tgz');
  const { digest } = await packLightStemcell({ ...light, imageDigest: 'sha256:abc' }, archivePath);
  assert.equal(digest, await digestOfFile(archivePath));
  const stemcell = await openStemcell({ archivePath, directory: join(directory, 'out'), within: directory });
  assert.deepEqual(stemcell, {
    name: 'embedded',
    version: '1.10',
    apiVersion: 3,
    formats: ['docker-light'],
    operatingSystem: 'ubuntu-noble',
    cloudProperties: { image_reference: 'registry.example/stemcell:1', digest: 'sha256:abc', os: 'linux' },
    imagePath: join(directory, 'out', 'image'),
  });
  assert.equal((await stat(stemcell.imagePath)).size, 0);
  assert.match(
    await readFile(join(directory, 'out', 'stemcell.MF'), 'utf8'),
    /sha1: da39a3ee5e6b4b0d3255bfef95601890afd80709/,
  );
});

test('the same stemcell gives the same archive', async (t) => {
  const directory = await scratchDirectory(t);
  const first = await packLightStemcell(light, join(directory, 'a.tgz'));
  const second = await packLightStemcell(light, join(directory, 'b.tgz'));
  assert.equal(first.digest, second.digest);
});

test("a container image's tar is named, with the command that converts it to a stemcell", async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'image.tgz');
  const open = () => openStemcell({ archivePath, directory: join(directory, 'out'), within: directory });
  const file = (name: string) => ({ kind: 'content', name, mode: 0o644, content: '{}' }) as const;
  const blob = `blobs/sha256/${'b'.repeat(64)}`;
  await packArchive([file('oci-layout'), file('index.json'), file(blob)], archivePath);
  await assert.rejects(open, {
    code: 'STEMCELL_INVALID',
    message:
      /image in OCI layout\. .*tar -xf \S+ -C layout; .*: bosh-kubernetes stemcell build --from layout/,
  });
  await packArchive([file(`${'a'.repeat(64)}.json`), file('manifest.json')], archivePath);
  await assert.rejects(open, {
    code: 'STEMCELL_INVALID',
    message: /docker save.*stemcell build --from layout/,
  });
});

test('a heavy stemcell is verified and only its image and manifest are unpacked', async (t) => {
  const directory = await scratchDirectory(t);
  await writeFile(join(directory, 'image'), 'root file system');
  const sha1 = await digestOfFile(join(directory, 'image'), 'sha1');
  const pack = async (digest: string, more = ''): Promise<string> => {
    const archivePath = join(directory, 's.tgz');
    const manifest = `name: bosh-warden\nversion: 3586.100\nsha1: ${digest}\n${more}`;
    await packArchive(
      [
        { kind: 'content', name: './stemcell.MF', mode: 0o644, content: manifest },
        { kind: 'content', name: './image', mode: 0o644, content: 'root file system' },
        { kind: 'content', name: './packages.txt', mode: 0o644, content: 'many' },
      ],
      archivePath,
    );
    return archivePath;
  };
  const open = async (archivePath: string): ReturnType<typeof openStemcell> =>
    openStemcell({ archivePath, directory: join(directory, 'out'), within: directory });
  const stemcell = await open(await pack(sha1));
  assert.deepEqual([stemcell.version, stemcell.apiVersion, stemcell.formats], ['3586.100', 1, []]);
  await assert.rejects(stat(join(directory, 'out', 'packages.txt')));
  await assert.rejects(open(await pack('0'.repeat(40))), {
    code: 'DIGEST_MISMATCH',
    message: /s\.tgz.*image/,
  });
  await assert.rejects(open(await pack(sha1, 'api_version: three\n')), {
    code: 'STEMCELL_INVALID',
    message: /s\.tgz.*stemcell\.MF:4:14: api_version: expected a whole number/,
  });
});

test('an archive that is not a stemcell is refused', async (t) => {
  const directory = await scratchDirectory(t);
  const archivePath = join(directory, 'x.tgz');
  await packArchive([{ kind: 'content', name: 'image', mode: 0o644, content: '' }], archivePath);
  const opening = openStemcell({ archivePath, directory: join(directory, 'out'), within: directory });
  await assert.rejects(opening, { code: 'FILE_NOT_FOUND', message: /x\.tgz.*stemcell\.MF/ });
  await packArchive(
    [{ kind: 'content', name: 'stemcell.MF', mode: 0o644, content: 'name: a\nversion: 1\n' }],
    archivePath,
  );
  await assert.rejects(openStemcell({ archivePath, directory: join(directory, 'out'), within: directory }), {
    code: 'FILE_NOT_FOUND',
    message: /image/,
  });
});
