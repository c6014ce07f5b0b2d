import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { loadManifest } from '../../bosh/manifest/load-manifest.ts';
import type { JobSummary } from '../archive/archive-catalog.ts';
import { createEnv } from '../create-env.ts';
import { scratchDirectory } from '../testing/scratch.ts';
import { testEnvironment } from '../testing/test-environment.ts';
import { unknownProperties } from './unknown-properties.ts';

test('create-env warns about a misspelt property of a job in each run, also if nothing is deployed', async (t) => {
  const { options, ports, editManifest } = await testEnvironment(t);
  await editManifest((text) =>
    text.replace('{name: app, release: tinyapp}', '{name: app, release: tinyapp, properties: {greetign: x}}'),
  );
  await createEnv(options, ports);
  await createEnv(options, ports);

  const expected =
    "instance_groups[0].jobs[0].properties.greetign: job 'app' of release 'tinyapp' has no property 'greetign', so it has no effect; the most similar is 'greeting'";
  assert.deepEqual(
    ports.warnings.map((text) => text.replace(/^.*manifest\.yml:\d+:\d+: /, '')),
    [expected, expected],
  );
});

const specs: readonly JobSummary[] = [
  { name: 'web', destinations: [], properties: ['web.port', 'web.users', 'tls.cert', 'tls.key'] },
  { name: 'db', destinations: [], properties: ['db.host', 'db.port', 'tls.cert'] },
  { name: 'cpi', destinations: ['bin/cpi'], properties: ['kubernetes.namespace', 'kubernetes.token'] },
];

const releases = [{ kind: 'release', name: 'r', version: '1', jobs: specs }] as const;

/** Returns the warnings, without the file, for the properties of the group, the job `db`, and the CPI. */
async function warnings(
  t: TestContext,
  {
    group = '{}',
    db = '{}',
    cpi = '{}',
  }: { readonly group?: string; readonly db?: string; readonly cpi?: string },
): Promise<readonly string[]> {
  const directory = await scratchDirectory(t);
  const path = join(directory, 'm.yml');
  await writeFile(
    path,
    `name: dep
releases: [{name: r, url: file://r.tgz}]
resource_pools: [{name: vms, network: any, stemcell: {url: file://stemcell.tgz}}]
networks: [{name: any, type: dynamic}]
instance_groups:
- name: group
  resource_pool: vms
  networks: [{name: any}]
  jobs:
  - {name: web, release: r}
  - name: db
    release: r
    properties: ${db}
  properties: ${group}
cloud_provider:
  template: {name: cpi, release: r}
  mbus: https://mbus:secret@10.0.0.5:6868
  properties: ${cpi}
`,
  );
  const { manifest } = await loadManifest({ path });
  return unknownProperties(manifest, releases).map((text) => text.replace(`${directory}/`, ''));
}

test('a warning names position, job and property, and the most similar property of the spec', async (t) => {
  const text = 'so it has no effect; the most similar is';
  for (const [given, at, problem] of [
    [
      { db: '{db: {hots: h}}' },
      'm.yml:13:29: instance_groups[0].jobs[1].properties.db.hots',
      `job 'db' of release 'r' has no property 'db.hots', ${text} 'db.host'`,
    ],
    [
      { db: '{bd: {host: h}}' },
      'm.yml:13:22: instance_groups[0].jobs[1].properties.bd',
      `job 'db' of release 'r' has no property 'bd', ${text} 'db'`,
    ],
    [
      { group: '{tls: {certt: c}}' },
      'm.yml:14:29: instance_groups[0].properties.tls.certt',
      `no job of the instance group has a property 'tls.certt', ${text} 'tls.cert'`,
    ],
    [
      { cpi: '{kubernetes: {namspace: n}}' },
      'm.yml:18:39: cloud_provider.properties.kubernetes.namspace',
      `job 'cpi' of release 'r' has no property 'kubernetes.namspace', ${text} 'kubernetes.namespace'`,
    ],
    [
      { cpi: '{kubernetes: {ns: n}}' },
      'm.yml:18:33: cloud_provider.properties.kubernetes.ns',
      "job 'cpi' of release 'r' has no property 'kubernetes.ns', so it has no effect; known are namespace, token",
    ],
  ] as const)
    assert.deepEqual(await warnings(t, given), [`${at}: ${problem}`]);
});

test('properties that a job of the group has, keys of a map, and properties of other consumers cause no warning', async (t) => {
  for (const given of [
    // Another job of the group has it.
    { group: '{db: {host: h}, web: {port: 1}}' },
    { db: '{tls: {cert: {ca: c, certificate: c}}}', group: '{web: {users: {prot: p}}}' },
    // Releases of bosh-deployment no longer have some properties that it gives.
    { db: '{bpm: {enabled: true}, db: {adapter: a}}', group: '{db: {adapter: a}, ntp: [], post: 1}' },
    { cpi: '{agent: {mbus: m}, kubernetes: {namespace: n}}' },
    { cpi: 'null', db: 'null', group: 'null' },
  ])
    assert.deepEqual(await warnings(t, given), [], JSON.stringify(given));
});
