import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scratchDirectory } from '../../src/bosh/testing/scratch.ts';
import { fakeGo } from '../cluster/programs/fake-go.ts';
import { missingForCluster } from '../cluster/requirements.ts';
import { obstacle } from './obstacle.ts';

test('a Go that is too old is named before anything is built with it', async (t) => {
  const environment = await fakeGo(await scratchDirectory(t), { version: '1.19', toolchain: '' });
  const wanted = /needs .*Go 1\.\d+ or newer \(https:\/\/go\.dev\/dl; on PATH is 1\.19\)/u;
  assert.match((await obstacle(environment)) ?? '', wanted);
  assert.match(missingForCluster(environment) ?? '', wanted);
});
