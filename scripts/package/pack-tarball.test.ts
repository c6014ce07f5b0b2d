import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';
import { packagedFiles } from './pack-tarball.ts';

test('the tarball contains no credentials, tests or releases that a user of the checkout has made', async (t) => {
  const checkout = await scratchDirectory(t);
  const wanted = [
    'README.md',
    'docs/README.md',
    'examples/hello/release/src/hello/a.cjs',
    'release/config/final.yml',
  ];
  const others = [
    'release/config/private.yml',
    'release/volumes/config/private.yml',
    'examples/hello/release/config/private.yml',
    'examples/hello/release/dev_releases/hello/hello-1.yml',
    'examples/hello/manifest-state.json',
    'examples/hello/manifest-state.json.trace',
    'examples/hello/manifest-creds.yml',
    'release/src/bosh_kubernetes_cpi/cpi',
    'examples/a.test.ts',
    'kubeconfig',
  ];
  for (const path of [...wanted, ...others]) {
    await mkdir(dirname(join(checkout, path)), { recursive: true });
    await writeFile(join(checkout, path), '');
  }
  const found = packagedFiles(checkout).map((path) => relative(checkout, path));
  assert.deepEqual(found.toSorted(), wanted.toSorted());
});
