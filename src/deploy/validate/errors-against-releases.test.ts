import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { errorChain } from '../../platform/error-chain.ts';
import { createEnv } from '../create-env.ts';
import { testEnvironment } from '../testing/test-environment.ts';

for (const [what, from, to, key, ...args] of [
  [
    'a job that its release does not have',
    '- {name: app, release: tinyapp}',
    '- {release: tinyapp, name: web}',
    'instance_groups[0].jobs[0].name',
    "'web' is not a job of release 'tinyapp' (1)",
  ],
  [
    'a CPI that its release does not have',
    'template: {name: cpi,',
    'template: {name: cpu,',
    'cloud_provider.template.name',
    "'cpu' is not a job of release 'tinycpi' (1)",
  ],
  [
    'a job that is not a CPI',
    'template: {name: cpi, release: tinycpi}',
    'template: {name: app, release: tinyapp}',
    'cloud_provider',
    "must render 'bin/cpi', found 0 among 'app' of 'tinyapp'",
  ],
  [
    'a release under another name',
    'tinyapp.tgz',
    'tinycpi.tgz',
    'releases[1].name',
    "Release name 'tinyapp' does not match",
  ],
  [
    'a missing property of a template',
    /properties: \{runtime: '.*', /,
    'properties: {',
    'cloud_provider.properties',
    "Cannot render 'cpi/templates/cpi.erb' (line 2): Can't find property 'runtime'",
  ],
] as const) {
  test(`${what} is reported with key and line of the manifest before any CPI call`, async (t) => {
    const { options, ports, cloud, editManifest } = await testEnvironment(t);
    await editManifest((text) => text.replace(from, to));
    const lines = (await readFile(options.manifestPath, 'utf8')).split('\n');

    const error = await createEnv(options, ports).then(
      () => assert.fail('it was deployed'),
      (failure: unknown) => errorChain(failure).join('\n'),
    );

    const position = new RegExp(`manifest\\.yml:(\\d+):(\\d+): ${key.replace(/[[\].]/g, '\\$&')}(?![\\w.])`);
    const [, line, column] = position.exec(error) ?? assert.fail(error);
    const there = lines[Number(line) - 1]?.slice(Number(column) - 1) ?? '';
    const value = key.endsWith('name') ? /^(web|cpu|tinyapp)\b/ : /^(\{cloud|template:)/;
    assert.match(there, value, error);
    for (const word of args) assert.ok(error.includes(word), `${word} is not in: ${error}`);
    assert.equal(cloud.vms().length, 0);
  });
}

test('both of two errors are reported', async (t) => {
  const { options, ports, editManifest } = await testEnvironment(t);
  await editManifest((text) =>
    text.replace('- {name: app,', '- {name: one, release: tinyapp}\n  - {name: two,'),
  );

  await assert.rejects(createEnv(options, ports), (error) => {
    const message = errorChain(error).join('\n');
    assert.match(message, /:\d+:\d+: instance_groups\[0\]\.jobs\[0\]\.name: 'one' is not a job/);
    assert.match(message, /:\d+:\d+: instance_groups\[0\]\.jobs\[1\]\.name: 'two' is not a job/);
    return true;
  });
});
