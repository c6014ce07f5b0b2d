import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { loadManifest } from './load-manifest.ts';
import { manifestWarnings } from './manifest-warnings.ts';

const manifest = (mbus: string, networks: string): string => `---
name: dep
releases: [{name: cpi, url: file://cpi.tgz}]
resource_pools: [{name: vms, network: private, stemcell: {url: file://stemcell.tgz}}]
networks:
- {name: private, type: manual, subnets: [{range: 10.0.0.0/24, gateway: 10.0.0.1}]}
- {name: public, type: vip}
- {name: any, type: dynamic}
instance_groups:
- name: group
  instances: 1
  resource_pool: vms
  networks:
${networks}
cloud_provider:
  template: {name: cpi, release: cpi}
  mbus: https://mbus:secret@${mbus}:6868
`;

async function warnings(
  t: TestContext,
  mbus: string,
  networks: string,
  env = '{}',
): Promise<readonly string[]> {
  const directory = await scratchDirectory(t);
  const path = join(directory, 'm.yml');
  await writeFile(
    path,
    manifest(mbus, networks).replace('network: private,', `network: private, env: ${env},`),
  );
  const loaded = await loadManifest({ path });
  return manifestWarnings(loaded.manifest).map((text) => text.replace(`${directory}/`, ''));
}

test("an mbus host in the instance's subnet with another address than the instance causes a warning with both addresses", async (t) => {
  const found = await warnings(t, '10.0.0.10', '  - {name: private, static_ips: [10.0.0.11]}');

  assert.equal(found.length, 1);
  assert.match(`${found[0]}`, /^m\.yml:17:9: cloud_provider\.mbus: '10\.0\.0\.10' .*'private'.*10\.0\.0\.11/);
  assert.doesNotMatch(found.join(), /secret/);
});

test('an mbus host that may lead to the VM by another way causes no warning', async (t) => {
  const fixed = '  - {name: private, static_ips: [10.0.0.11]}';
  const several = '  - {name: private, static_ips: [10.0.0.11], default: [dns, gateway]}';
  for (const [mbus, networks] of [
    ['10.0.0.11', fixed],
    // An address behind NAT, a proxy, a name.
    ['192.0.2.1', fixed],
    ['[fd00::1]', fixed],
    ['bosh.example.com', fixed],
    ['10.0.0.10', `${several}\n  - {name: public, static_ips: [10.0.0.10]}`],
    ['10.0.0.10', '  - {name: any}'],
  ] as const)
    assert.deepEqual(await warnings(t, mbus, networks), [], `${mbus} ${networks}`);
});

test("a static IP address that is the gateway's causes a warning", async (t) => {
  const found = await warnings(t, '10.0.0.1', '  - {name: private, static_ips: [10.0.0.1]}');

  assert.equal(found.length, 1);
  assert.match(
    `${found[0]}`,
    /^m\.yml:14:\d+: instance_groups\[0\]\.networks\[0\]\.static_ips: '10\.0\.0\.1' is the gateway of network 'private'/,
  );
});

test('a warning names each key of the env without effect, and no other', async (t) => {
  const fixed = '  - {name: private, static_ips: [10.0.0.11]}';
  const env =
    '{persistent_disk_fs: xfs, bosh: {swap_size: 1, agent: {settings: {tmpfs: true}}, password: s3cret, mbus: {cert: {}}, ' +
    'authorized_keys: [k], job_dir: {tmpfs: true}, parallel: 3, tags: {}, swap_sise: 1}}';
  const found = await warnings(t, '10.0.0.11', fixed, env);

  assert.deepEqual(
    found.map((text) => /^m\.yml:4:\d+: resource_pools\[0\]\.env\.(\S+) /.exec(text)?.[1]),
    ['bosh.agent.settings.tmpfs', 'bosh.password', 'bosh.swap_size', 'persistent_disk_fs'],
  );
  assert.doesNotMatch(found.join(), /s3cret/);
  assert.match(`${found[0]}`, /our agent/);
  assert.match(`${found[2]}`, /no effect in a pod/);
});
