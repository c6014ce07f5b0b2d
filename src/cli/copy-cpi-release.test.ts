import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ReleaseManifest } from '../bosh/release/release-manifest.ts';
import { scratchDirectory } from '../bosh/testing/scratch.ts';
import { copyCpiRelease } from './copy-cpi-release.ts';

const release = { name: 'bosh-kubernetes', version: '1.2.3' } as ReleaseManifest;

test('the copy gets its variables beside it, and refused arguments leave no file', async (t) => {
  const home = await scratchDirectory(t);
  const source = join(home, 'source');
  await writeFile(source, 'archive');
  const copy = (request: Parameters<typeof copyCpiRelease>[2]) => copyCpiRelease(source, release, request);
  const tarball = join(home, 'a.tgz');
  for (const [request, code, message] of [
    [{ tarball, url: 'ftp://a.example/x' }, 'INVALID_ARGUMENT', /--url needs/u],
    [{ tarball, final: true }, 'INVALID_ARGUMENT', /need a checkout/u],
    [
      { tarball: join(home, 'none', 'a.tgz') },
      'FILE_NOT_FOUND',
      /The folder '.*none' for the archive .* does not exist/u,
    ],
    [
      { tarball: home },
      'INVALID_ARGUMENT',
      /is a folder; name the archive, .*bosh-kubernetes-1\.2\.3\.tgz'/u,
    ],
  ] as const)
    await assert.rejects(copy(request), { code, message });
  assert.deepEqual(await readdir(home), ['source']);

  const { archivePath } = await copy({ tarball: join(home, '((name))-((version)).tgz') });
  assert.equal(archivePath, join(home, 'bosh-kubernetes-1.2.3.tgz'));
  assert.equal(await readFile(archivePath, 'utf8'), 'archive');
  assert.match(
    await readFile(join(home, 'bosh-kubernetes-1.2.3.yml'), 'utf8'),
    /^kubernetes_cpi_release_version: "1\.2\.3"$/mu,
  );
});
