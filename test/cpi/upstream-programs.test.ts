import assert from 'node:assert/strict';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import {
  boshCli,
  upstreamAgent,
  withoutBoshCli,
  withoutUpstreamAgent,
  withoutUpstreamDirectorAgent,
} from '../support/upstream-programs.ts';

test('the bosh CLI is what BOSH_CLI names, else the first program bosh on PATH', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-path-'));
  t.after(() => rm(directory, { recursive: true }));
  const [empty, dir, data, found] = ['empty', 'folder', 'data', 'found'].map((name) => join(directory, name));
  assert.ok(empty !== undefined && dir !== undefined && data !== undefined && found !== undefined);
  for (const path of [empty, join(dir, 'bosh'), data, found]) await mkdir(path, { recursive: true });
  await writeFile(join(data, 'bosh'), '', { mode: 0o600 });
  await writeFile(join(found, 'bosh'), '#!/bin/sh\n');
  await chmod(join(found, 'bosh'), 0o755);

  const path = ['', empty, dir, data, found].join(':');
  assert.equal(boshCli({ PATH: path }), join(found, 'bosh'));
  assert.equal(withoutBoshCli({ PATH: path }), false);
  assert.equal(boshCli({ PATH: path, BOSH_CLI: 'named/bosh' }), resolve('named/bosh'));
  assert.equal(boshCli({ PATH: empty }), undefined);
  assert.match(String(withoutBoshCli({})), /BOSH_CLI/u);
});

test('an upstream agent is tested with a monit only, and under a director with bosh-davcli, too', () => {
  const both = { BOSH_AGENT: '/a', BOSH_MONIT: '/m' };
  assert.deepEqual(upstreamAgent(both), { agent: '/a', monit: '/m', davcli: undefined });
  assert.equal(upstreamAgent({ BOSH_AGENT: '/a' }), undefined);
  assert.match(String(withoutUpstreamAgent({ BOSH_AGENT: '/a' })), /BOSH_MONIT/u);
  assert.match(String(withoutUpstreamDirectorAgent({ BOSH_AGENT: '/a' })), /BOSH_MONIT/u);
  assert.match(String(withoutUpstreamDirectorAgent(both)), /BOSH_DAVCLI/u);
  const all = { ...both, BOSH_DAVCLI: '/d' };
  assert.equal(upstreamAgent(all)?.davcli, '/d');
  assert.equal(withoutUpstreamDirectorAgent(all), false);
});
