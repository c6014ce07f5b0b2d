import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scratchDirectory } from '../../../src/bosh/testing/scratch.ts';
import { missingForCluster } from '../requirements.ts';
import { fakeGo } from './fake-go.ts';
import { missingGo, parseGoVersion } from './go-requirement.ts';

test('parses the version that go version prints', () => {
  for (const [printed, version] of [
    ['go version go1.26.8 linux/amd64\n', '1.26'],
    ['go version go1.26 linux/arm64\n', '1.26'],
    ['go version go1.27rc1 linux/amd64\n', '1.27'],
    ['go version devel go1.28-abcdef0123 Mon Jan 5 linux/amd64\n', '1.28'],
    ['', undefined],
    ['gcc version 12.2.0\n', undefined],
  ] as const)
    assert.equal(parseGoVersion(printed), version, printed);
});

test('an older Go is enough if it can download the newer one', async (t) => {
  for (const [version, toolchain, expected] of [
    ['1.19.8', '', /on PATH is 1\.19\)/u],
    ['1.20.14', 'auto', /on PATH is 1\.20\)/u],
    ['1.21.0', 'auto', undefined],
    ['1.25.3', 'local+auto', undefined],
    ['1.25.3', 'go1.22.1+path', undefined],
    ['1.25.3', 'local', /on PATH is 1\.25, which fetches it with GOTOOLCHAIN=auto\)/u],
    ['1.25.3', 'go1.25.3', /GOTOOLCHAIN=auto/u],
    ['1.26.0', 'local', undefined],
    ['2.0', 'local', undefined],
  ] as const) {
    const missing = missingGo(await fakeGo(await scratchDirectory(t), { version, toolchain }));
    if (expected === undefined) assert.equal(missing, undefined, `${version} ${toolchain}`);
    else assert.match(missing ?? '', expected, `${version} ${toolchain}`);
  }
  assert.match(missingGo({ PATH: '/nowhere' }) ?? '', /^Go \S+ or newer \(https:\/\/go\.dev\/dl\)$/u);
});

test('the requirements of a cluster name a Go that is too old, before anything is built with it', async (t) => {
  const environment = await fakeGo(await scratchDirectory(t), { version: '1.19', toolchain: '' });
  assert.match(
    missingForCluster(environment) ?? '',
    /needs .*Go 1\.\d+ or newer \(https:\/\/go\.dev\/dl; on PATH is 1\.19\)/u,
  );
});
