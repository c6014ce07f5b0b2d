import assert from 'node:assert/strict';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { isProductError } from '../../errors/product-error.ts';
import { systemClock } from '../../platform/clock.ts';
import { directoriesOf, type Directories } from '../directories.ts';
import { systemPrograms } from '../process/programs.ts';
import { openBlobstore } from './open-blobstore.ts';
import type { RemoteBlobstore } from './remote-blobstore.ts';

const secret = 'password-of-the-bucket';
const key = `-----BEGIN PRIVATE KEY-----\n${'secretlineofkey1'.repeat(4)}\n${'secretlineofkey2'.repeat(4)}\n-----END PRIVATE KEY-----\n`;
const options = { bucket_name: 'blobs', secret_access_key: secret, json: { private_key: key } };

/** A blobstore of a shell script in bosh/bin, which gets the directory of its blobs as $blobs. */
async function scene(
  t: TestContext,
  script?: string,
  limits: { readonly timeoutMs?: number } = {},
): Promise<[RemoteBlobstore, Directories, string]> {
  const directories = directoriesOf(await scratchDirectory(t));
  const bin = join(directories.bosh, 'bin');
  for (const path of [bin, directories.temporary, directories.blobs]) await mkdir(path, { recursive: true });
  const program = `#!/bin/sh\nblobs=${directories.blobs} config=$2 action=$3\nshift 3\n${script}\n`;
  if (script !== undefined) await writeFile(join(bin, 'bosh-blobstore-test'), program, { mode: 0o755 });
  const ports = { programs: systemPrograms, clock: systemClock, directories, ...limits };
  const store = openBlobstore({ provider: 'test', options }, ports);
  assert.ok(store);
  return [store, directories, join(directories.temporary, 'file')];
}

test('a program gets its configuration in a file of root only, and its blobs are readable by root only', async (t) => {
  const script = 'case $action in get) cat "$blobs/$1" > "$2" ;; put) cat "$1" > "$blobs/$2" ;; esac';
  const [store, directories, path] = await scene(t, script);
  await writeFile(path, 'content');
  await store.put('id', path);
  await store.get('id', `${path}-2`);
  assert.equal(await readFile(`${path}-2`, 'utf8'), 'content');
  assert.equal((await stat(`${path}-2`)).mode & 0o777, 0o600);
  const config = join(directories.bosh, 'etc', 'blobstore-test.json');
  assert.deepEqual(JSON.parse(await readFile(config, 'utf8')), options);
  assert.equal((await stat(config)).mode & 0o777, 0o600);
  assert.deepEqual((await readdir(directories.temporary)).toSorted(), ['file', 'file-2']);
});

test('a missing program is named, with the next step', async (t) => {
  const [store, , path] = await scene(t);
  await assert.rejects(
    store.get('id', path),
    (error) =>
      isProductError(error, 'AGENT_BLOBSTORE_FAILED') &&
      /needs the program bosh-blobstore-test, .*: use a stemcell that has it/u.test(error.message),
  );
});

test('the error of a program has what it printed without the secrets of its configuration', async (t) => {
  const printing = {
    'the configuration': 'cat "$config" >&2; exit 3',
    'a secret alone': `echo "denied for ${secret}"; exit 3`,
    'a line of a key': `echo ${'secretlineofkey2'.repeat(4)}; exit 3`,
    base64: `printf %s '${secret}' | base64; exit 3`,
    'more than is kept': `i=0; while [ $i -lt 900 ]; do echo "denied for ${secret}"; i=$((i+1)); done; exit 3`,
    'one long line': `head -c 20000 /dev/zero | tr '\\0' x; printf %s '${secret}${secret}'; exit 3`,
    'control characters': `printf '\\033[2Jdenied\\n\\n'; exit 3`,
  };
  for (const [name, script] of Object.entries(printing)) {
    const [store, directories, path] = await scene(t, script);
    await assert.rejects(store.get('id', path), (error) => {
      assert.ok(isProductError(error, 'AGENT_BLOBSTORE_FAILED'), name);
      assert.match(
        error.message,
        /^bosh-blobstore-test get exited with 3; it printed: .*; check the options/u,
      );
      assert.doesNotMatch(error.message, /of-the-bucket|secretlineofkey|\p{Cc}/u, name);
      assert.ok(!error.message.includes(btoa(secret)), name);
      assert.ok(error.message.length < 1300, name);
      return true;
    });
    assert.deepEqual(await readdir(directories.temporary), []);
  }
});

test('a program that does not end is ended, so that the next task runs', async (t) => {
  const [store, directories, path] = await scene(t, 'echo connecting; sleep 300', { timeoutMs: 500 });
  await assert.rejects(
    store.get('id', path),
    (error) =>
      isProductError(error, 'AGENT_BLOBSTORE_FAILED') &&
      /^bosh-blobstore-test get did not end within 0\.5 s; it printed: .*; check that the blobstore is/u.test(
        error.message,
      ),
  );
  assert.deepEqual(await readdir(directories.temporary), []);
});

test('a provider that is not one plain name is refused', () => {
  const ports = { programs: systemPrograms, clock: systemClock, directories: directoriesOf('/nonexistent') };
  for (const provider of ['', '../x', 'a/b', '-c', '.', 'S3', 'a b', 'a\n', 'a\0', 'x'.repeat(64)])
    assert.throws(
      () => openBlobstore({ provider, options }, ports),
      (error) =>
        isProductError(error, 'AGENT_SETTINGS_INVALID') && error.message.startsWith('the provider of the'),
      JSON.stringify(provider),
    );
});
