import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { fakeMmdebstrap } from '../../stemcell/testing/fake-mmdebstrap.ts';
import { filesOverRoot } from '../../stemcell/testing/files-over-root.ts';
import { said } from '../testing/said.ts';
import { buildStemcell } from './build.ts';

const notRoot = process.geteuid?.() !== 0 && 'needs root, as a Debian root does';

test('an agent and a monit that are given are in the image, unmodified', { skip: notRoot }, async (t) => {
  const directory = await scratchDirectory(t);
  const programs = { agent: '#!/bin/sh\n: an agent\n', monit: '#!/bin/sh\n: a monit\n' };
  const [agent, monit] = [join(directory, 'given-agent'), join(directory, 'given-monit')];
  await writeFile(agent, programs.agent);
  await writeFile(monit, programs.monit);
  const environment = { ...(await fakeMmdebstrap(directory)), XDG_CACHE_HOME: join(directory, 'cache') };
  const output = join(directory, 'out');
  const words = ['--from-debian', '--profile', 'baseline', '--agent', agent, '--monit', monit];
  assert.equal(await buildStemcell([...words, '--output', output], said(environment).context), 0);
  const files = await filesOverRoot(join(output, 'image'));
  for (const [name, text] of [
    ['bosh-agent', programs.agent],
    ['monit', programs.monit],
  ] as const) {
    const target = files.get(`var/vcap/bosh/bin/${name}`)?.target;
    assert.equal(target, `/usr/lib/bosh-kubernetes/${name}`);
    assert.deepEqual(files.get(target.slice(1)), { text, mode: 0o755, target: '' });
  }
});
