import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { loadManifest, type LoadManifestOptions, type LoadedManifest } from './load-manifest.ts';
import { networkInterfaces } from './read-networks.ts';

const valid = `---
name: dep
releases:
- {name: cpi, url: file://releases/cpi.tgz}
- {name: app, url: "https://example.com/app.tgz", sha1: da39a3ee5e6b4b0d3255bfef95601890afd80709}
resource_pools:
- name: vms
  network: private
  stemcell: {url: file://~/stemcell.tgz}
  env: {bosh: {password: "*"}}
disk_pools:
- {name: disks, disk_size: 64, cloud_properties: {storage_class: fast}}
networks:
- name: private
  type: manual
  subnets:
  - {range: 10.0.0.0/24, gateway: 10.0.0.1, dns: [10.0.0.2], cloud_properties: {zone: z}}
- {name: public, type: vip}
- {name: any, type: dynamic, dns: [8.8.8.8]}
instance_groups:
- name: group
  instances: 1
  jobs:
  - {name: web, release: app, properties: {web: {port: 80}}}
  - {name: other, release: app}
  resource_pool: vms
  persistent_disk_pool: disks
  networks:
  - {name: private, static_ips: [10.0.0.5], default: [dns, gateway]}
  - {name: any}
  properties: {group: true}
properties: {global: 1}
tags: {team: blue, cost: 7}
update: {update_watch_time: 1000-20000}
cloud_provider:
  template: {name: kubernetes_cpi, release: cpi}
  mbus: https://mbus:((password))@10.0.0.5:6868
  properties: {agent: {mbus: x}}
`;

async function load(
  t: TestContext,
  text: string,
  options: Partial<LoadManifestOptions> = {},
): Promise<LoadedManifest> {
  const directory = await scratchDirectory(t);
  const path = join(directory, 'm.yml');
  await writeFile(path, text);
  return loadManifest({ path, variables: { password: 'secret' }, ...options });
}

/** Returns the lines of the error, without the file's directory. */
async function problems(
  t: TestContext,
  text: string,
  options: Partial<LoadManifestOptions> = {},
): Promise<readonly string[]> {
  try {
    await load(t, text, options);
  } catch (error) {
    assert.equal((error as { code?: string }).code, 'MANIFEST_INVALID', String(error));
    return (error as Error).message.split('\n').map((line) => line.replace(/^\S*\/m\.yml/, 'm.yml'));
  }
  return [];
}

test('a manifest is read with its references resolved', async (t) => {
  const { manifest } = await load(t, valid);
  assert.equal(manifest.name, 'dep');
  const [cpi, app] = manifest.releases;
  assert.match(
    cpi?.location.kind === 'file' ? cpi.location.path : '',
    /\/bosh-formats-[^/]+\/releases\/cpi\.tgz$/,
  );
  assert.deepEqual(app?.location, { kind: 'http', url: 'https://example.com/app.tgz' });
  assert.equal(app.digest, 'da39a3ee5e6b4b0d3255bfef95601890afd80709');
  assert.deepEqual(manifest.resourcePool.stemcell.location, {
    kind: 'file',
    path: join(homedir(), 'stemcell.tgz'),
  });
  assert.deepEqual(manifest.instanceGroup.diskPool, {
    name: 'disks',
    diskSize: 64,
    cloudProperties: { storage_class: 'fast' },
  });
  const [web, other] = manifest.instanceGroup.jobs;
  assert.deepEqual(web?.properties, { web: { port: 80 } });
  assert.match(web.at, /m\.yml:\d+:\d+: instance_groups\[0\]\.jobs\[0\]\.name$/);
  assert.match(web.propertiesPosition, /m\.yml:\d+:\d+: instance_groups\[0\]\.jobs\[0\]\.properties$/);
  assert.deepEqual([other?.name, other?.release, other?.properties], ['other', 'app', undefined]);
  assert.deepEqual(manifest.tags, { team: 'blue', cost: '7' });
  assert.match(manifest.tagPositions['cost'] ?? '', /m\.yml:33:26: tags\.cost$/);
  assert.deepEqual(manifest.updateWatchTime, { start: 1000, end: 20_000 });
  assert.equal(manifest.cloudProvider.mbus, 'https://mbus:secret@10.0.0.5:6868');
  const [template] = manifest.cloudProvider.templates;
  assert.deepEqual([template?.name, template?.release], ['kubernetes_cpi', 'cpi']);
});

test('networks have the form of create_vm', async (t) => {
  const { manifest } = await load(t, valid);
  assert.deepEqual(networkInterfaces(manifest), {
    private: {
      type: 'manual',
      ip: '10.0.0.5',
      netmask: '255.255.255.0',
      gateway: '10.0.0.1',
      dns: ['10.0.0.2'],
      default: ['dns', 'gateway'],
      cloud_properties: { zone: 'z' },
    },
    any: { type: 'dynamic', dns: ['8.8.8.8'], cloud_properties: {} },
  });
});

test('a single network is the default for everything', async (t) => {
  const { manifest } = await load(t, valid.replace(', default: [dns, gateway]}\n  - {name: any}', '}'));
  assert.deepEqual(networkInterfaces(manifest)['private']?.['default'], ['dns', 'gateway']);
});

test('the old names of keys are still accepted', async (t) => {
  const old = valid
    .replace('instance_groups:', 'jobs:')
    .replace('  jobs:\n  - {name: web', '  templates:\n  - {name: web');
  const { manifest } = await load(t, old.replace('persistent_disk_pool: disks', 'persistent_disk: 100'));
  assert.equal(manifest.instanceGroup.jobs.length, 2);
  assert.deepEqual(manifest.instanceGroup.diskPool, { name: '', diskSize: 100, cloudProperties: {} });
});

test('the hash is that of the bosh CLI', async (t) => {
  const { sha512 } = await load(t, valid);
  // `bosh interpolate m.yml -v password=secret | sha512sum` (bosh-cli 19ee1a8).
  const expected =
    '573d19e3ef95b02e8868c8879fde8f8e060ea2232cc479a38612c059347d75d6' +
    'ec5f9e6e058f661767ce5d3e65a894f94253cbf3388edce37e82d81bbccf73c5';
  assert.equal(sha512, expected);
});

test('each broken rule is reported with line and key', async (t) => {
  const broken = valid
    .replace('name: dep', 'name: ""')
    .replace('url: file://releases/cpi.tgz', 'url: releases/cpi.tgz')
    .replace(', sha1: da39a3ee5e6b4b0d3255bfef95601890afd80709', '')
    .replace('disk_size: 64', 'disk_size: 0')
    .replace('gateway: 10.0.0.1,', 'gateway: 10.0.1.1,')
    .replace('type: vip', 'type: virtual')
    .replace('instances: 1', 'instances: 2')
    .replace('{name: other, release: app}', '{name: web, release: none}')
    .replace('resource_pool: vms', 'resource_pool: none')
    .replace('static_ips: [10.0.0.5]', 'static_ips: [10.9.0.5, x]')
    .replace('{name: any}\n  prop', '{name: none, default: [dns, route]}\n  prop')
    .replace('1000-20000', 'soon')
    .replace('kubernetes_cpi, release: cpi', 'kubernetes_cpi, release: nowhere')
    .replace('mbus: https://', 'mbus: nats://');
  assert.deepEqual(await problems(t, broken), [
    'm.yml:2:7: name: must be provided',
    'm.yml:4:20: releases[0].url: must begin with file://, http:// or https://',
    'm.yml:5:3: releases[1].sha1: must be provided for an http URL',
    'm.yml:12:28: disk_pools[0].disk_size: must be a number of MiB above 0',
    "m.yml:17:35: networks[0].subnets[0].gateway: '10.0.1.1' is not in the range of the subnet",
    "m.yml:18:24: networks[1].type: must be 'manual', 'dynamic' or 'vip', found 'virtual'",
    'm.yml:22:14: instance_groups[0].instances: must be 1',
    "m.yml:25:12: instance_groups[0].jobs[1].name: the job 'web' is listed twice",
    "m.yml:25:26: instance_groups[0].jobs[1].release: there is no release 'none' in releases",
    "m.yml:26:18: instance_groups[0].resource_pool: there is no resource pool 'none'",
    "m.yml:29:3: instance_groups[0].networks: only one network can be the default for 'dns'",
    "m.yml:29:34: instance_groups[0].networks[0].static_ips[0]: '10.9.0.5' is not in the range 10.0.0.0/24 of network 'private'",
    "m.yml:29:44: instance_groups[0].networks[0].static_ips[1]: 'x' is not an IP address",
    "m.yml:30:12: instance_groups[0].networks[1].name: there is no network 'none'",
    "m.yml:30:33: instance_groups[0].networks[1].default[1]: must be 'dns' or 'gateway'",
    "m.yml:34:29: update.update_watch_time: 'soon' is not a range of milliseconds like 1000-300000",
    "m.yml:36:45: cloud_provider.template.release: there is no release 'nowhere' in releases",
    'm.yml:37:9: cloud_provider.mbus: must be a URL like https://user:password@10.0.0.6:6868',
  ]);
});

test('a file that is not a manifest is refused in one sentence', async (t) => {
  const missing = (await problems(t, 'x: 1')).map((line) => line.split(': ')[1]);
  assert.deepEqual(missing, ['name', 'releases', 'networks', 'instance_groups', 'cloud_provider']);
  for (const empty of ['', '\n', '--- # nothing\n', '~'])
    assert.deepEqual(await problems(t, empty), ['m.yml: the manifest is empty']);
  assert.deepEqual(await problems(t, 'name: [x'), [
    'm.yml:1:9: the indentation does not fit the lines before, or a bracket or quotation mark is not closed',
  ]);
});

test('a missing key is reported with the misspelt one, and one mistake is reported at one place only', async (t) => {
  for (const [from, to, ...expected] of [
    [
      'disk_size: 64',
      'disk_sze: 64',
      "m.yml:12:3: disk_pools[0].disk_size: must be a number of MiB above 0; the similar key 'disk_sze' is not known",
    ],
    [
      'mbus: https',
      'mbsu: https',
      "m.yml:36:3: cloud_provider.mbus: must be provided; the similar key 'mbsu' is not known",
    ],
    ['disk_size: 64', 'size: 64', 'm.yml:12:3: disk_pools[0].disk_size: must be a number of MiB above 0'],
    [
      'disk_size: 64',
      'disk_size: large',
      'm.yml:12:28: disk_pools[0].disk_size: expected a whole number, found text',
    ],
    [
      'static_ips: [10.0.0.5]',
      'static_ips: 10.0.0.5',
      'm.yml:29:33: instance_groups[0].networks[0].static_ips: expected a list, found text',
    ],
    [
      'name: group\n  instances: 1\n',
      'name: group\n    instances: 1\n',
      'm.yml:21:9: a key has to be on one line; a colon after it may be missing, or the indentation of the next line is wrong',
    ],
    [
      'stemcell: {url: file://~/stemcell.tgz}',
      'stemcell: file://stemcell.tgz',
      'm.yml:9:13: resource_pools[0].stemcell: expected a map, found text',
    ],
  ] as const) {
    const broken = valid.replace(from, to);
    assert.notEqual(broken, valid, from);
    assert.deepEqual(await problems(t, broken), expected, to);
  }
});

test('errors contain no secrets', async (t) => {
  const lines = await problems(t, valid.replace('https://mbus', 'ftp://mbus'), {
    variables: { password: 'hunter2' },
  });
  assert.deepEqual(lines, [
    'm.yml:37:9: cloud_provider.mbus: must be a URL like https://user:password@10.0.0.6:6868',
  ]);
});

test('operations and every kind of variable work together', async (t) => {
  const directory = await scratchDirectory(t);
  const [ops, early, late, file] = ['ops.yml', 'early.yml', 'late.yml', 'file.txt'].map((name) =>
    join(directory, name),
  );
  assert.ok(ops !== undefined && early !== undefined && late !== undefined && file !== undefined);
  await writeFile(ops, '- {type: replace, path: /properties/all?, value: [((a)), ((b)), ((c)), ((d))]}\n');
  await writeFile(early, 'a: early\nb: early\nc: early\nd: early\n');
  await writeFile(late, 'b: late\nc: late\nd: late\n');
  await writeFile(file, 'from file\n');
  const { manifest } = await load(t, valid, {
    opsFiles: [ops],
    varsFiles: [early, late],
    variableFiles: { c: file, d: file },
    variables: { d: 4, password: 'x' },
  });
  assert.deepEqual(manifest.properties, { global: 1, all: ['early', 'late', 'from file\n', 4] });
});

test('generated values are kept in the vars store, and the next load is the same', async (t) => {
  const directory = await scratchDirectory(t);
  const varsStorePath = join(directory, 'vars.yml');
  const text = `${valid}variables:\n- {name: password, type: password}\n`;
  const first = await load(t, text, { varsStorePath, variables: {} });
  const second = await load(t, text, { varsStorePath, variables: {} });
  assert.match(first.manifest.cloudProvider.mbus, /mbus:[a-z0-9]{20}@/);
  assert.equal(second.sha512, first.sha512);
  assert.match(await readFile(varsStorePath, 'utf8'), /^password: [a-z0-9]{20}\n$/);
});

test('a typed variable needs a value if there is no vars store', async (t) => {
  const lines = await problems(t, `${valid}variables:\n- {name: password, type: password}\n`, {
    variables: {},
  });
  assert.deepEqual(lines, [
    "m.yml:37:9: variable 'password' is neither given nor generated; --vars-store FILE generates it",
  ]);
});

test('a document that is not a map is refused, with this error only', async (t) => {
  for (const [text, found] of [
    ['- name: dep\n', 'a list'],
    ['\u007fELF\u0002\u0001', 'text'],
    ['5', 'a number'],
  ] as const)
    await assert.rejects(load(t, text), (error: Error) => {
      assert.match(error.message, new RegExp(`m\\.yml:1:1: must be a map, found ${found}$`), text);
      return true;
    });
});
