import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createEnv } from './create-env.ts';
import { filesBelow, testEnvironment } from './testing/test-environment.ts';

const firstDeploy = [
  'create_stemcell',
  'check_vm',
  'create_vm',
  'set_vm_metadata',
  'create_disk',
  'attach_disk',
  'set_disk_metadata',
];

test("a first deploy creates the VM and the disk and starts the jobs in bosh's order", async (t) => {
  const { options, ports, cloud, agent, state } = await testEnvironment(t, { variables: 'missing' });

  const result = await createEnv(options, ports);

  assert.deepEqual(cloud.calls(), firstDeploy);
  assert.deepEqual(
    [cloud.vms(), cloud.attachedDisks(), agent.mountedDisks],
    [[result.vmCid], [result.diskCid], [result.diskCid]],
  );
  assert.deepEqual(agent.verbs, [
    'get_state',
    'add_persistent_disk',
    'mount_disk',
    'apply',
    'get_state',
    'compile_package',
    'compile_package',
    'stop',
    'apply',
    'run_script',
    'start',
    'get_state',
    'run_script',
  ]);
  assert.deepEqual(
    [result.changed, result.instance, result.state, result.address],
    [true, 'hello/0', 'running', '127.0.0.1'],
  );
  const {
    current_manifest_sha: sha,
    releases,
    disks,
  } = (await state()) as Record<string, { length: number }>;
  assert.deepEqual([sha?.length, releases?.length, disks?.length], [128, 2, 1]);
  assert.equal(cloud.requests().filter(({ method }) => method === 'info').length, 1);
  assert.match(await readFile(options.varsStorePath ?? '', 'utf8'), /^mbus_ca:\n[^]*^mbus_tls:\n/mu);
});

test('prints its steps as bosh does', async (t) => {
  const { options, ports, directory } = await testEnvironment(t);

  const { vmCid, diskCid } = await createEnv(options, ports);

  const text = ports
    .output()
    .replaceAll(/\(\d\d:\d\d:\d\d\)/g, '(t)')
    .replaceAll(/'(\w+)\/[0-9a-f]{64}'/g, "'$1/fp'");
  assert.equal(
    text,
    `Deployment manifest: '${directory}/manifest.yml'
Deployment state: '${directory}/state.json'

Started validating
  Validating release 'tinycpi'... Finished (t)
  Validating release 'tinyapp'... Finished (t)
  Validating cpi release... Finished (t)
  Validating deployment manifest... Finished (t)
  Validating stemcell... Finished (t)
Finished validating (t)

Started installing CPI
  Compiling package 'base/fp'... Finished (t)
  Compiling package 'runner/fp'... Finished (t)
  Installing packages... Finished (t)
  Rendering job templates... Finished (t)
  Installing job 'cpi'... Finished (t)
Finished installing CPI (t)

Uploading stemcell 'tiny-stemcell/1.0'... Finished (t)

Started deploying
  Creating VM for instance 'hello/0' from stemcell 'stemcell-tiny-1.0'... Finished (t)
  Waiting for the agent on VM '${vmCid}' to be ready... Finished (t)
  Creating disk... Finished (t)
  Attaching disk '${diskCid}' to VM '${vmCid}'... Finished (t)
  Rendering job templates... Finished (t)
  Compiling package 'lib/fp'... Finished (t)
  Compiling package 'app/fp'... Finished (t)
  Updating instance 'hello/0'... Finished (t)
  Waiting for instance 'hello/0' to be running... Finished (t)
  Running the post-start scripts 'hello/0'... Finished (t)
Finished deploying (t)

Cleaning up rendered CPI jobs... Finished (t)
`,
  );
});

test('passes the same values to the CPI and the agent as bosh', async (t) => {
  const { options, ports, cloud, agent } = await testEnvironment(t);

  const { vmCid, diskCid } = await createEnv(options, ports);

  const of = (name: string) => cloud.requests().find(({ method }) => method === name)?.arguments ?? [];
  const [agentId, stemcell, properties, networks, disks, env] = of('create_vm');
  assert.equal(vmCid, `vm-${String(agentId)}`);
  assert.deepEqual([stemcell, properties, disks], ['stemcell-tiny-1.0', { cpu: 1 }, []]);
  assert.deepEqual(networks, {
    default: {
      type: 'manual',
      ip: '127.0.0.1',
      netmask: '255.0.0.0',
      gateway: '127.0.0.254',
      dns: ['9.9.9.9'],
      default: ['dns', 'gateway'],
      cloud_properties: { name: 'bridge' },
    },
  });
  assert.deepEqual((env as { bosh: { tags: unknown } }).bosh.tags, { team: 'kcpi' });
  assert.deepEqual(of('create_disk'), [64, { type: 'fast' }, vmCid]);
  const metadata = { deployment: 'tiny-env', instance_group: 'hello', director: 'bosh-init', team: 'kcpi' };
  const { created_at: created, ...vmMetadata } = of('set_vm_metadata')[1] as Record<string, string>;
  assert.match(created ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  assert.deepEqual(vmMetadata, { ...metadata, job: 'hello', index: '0', name: 'hello/0' });
  const { attached_at: attached, ...diskMetadata } = of('set_disk_metadata')[1] as Record<string, string>;
  assert.match(attached ?? '', /Z$/);
  assert.deepEqual(diskMetadata, { ...metadata, instance_index: '0' });
  const spec = agent.calls.filter(({ method }) => method === 'apply').at(-1)?.arguments[0] as Record<
    string,
    unknown
  >;
  assert.deepEqual(Object.keys(spec['packages'] as object).toSorted(), ['app', 'lib']);
  assert.deepEqual(
    [spec['deployment'], spec['id'], spec['index'], spec['az']],
    ['tiny-env', '0', 0, 'unknown'],
  );
  assert.equal(agent.calls.find(({ method }) => method === 'mount_disk')?.arguments[0], diskCid);
});

test('64-bit integers keep their digits in calls, state and a second run', async (t) => {
  const { options, ports, directory, editManifest } = await testEnvironment(t);
  await editManifest((text) =>
    text
      .replace('{cpu: 1}', '{large: ((large))}')
      .replace('env: {', 'env: {large: 18446744073709551613, ')
      .replace('{type: fast}', '{large: 18446744073709551614}')
      .replace('{name: bridge}', '{large: 9007199254740993}')
      .replace("{runtime: '", "{large: 18446744073709551612, runtime: '")
      .replace('good day', '18446744073709551615'),
  );
  const given = { ...options, variables: { large: 18_446_744_073_709_551_615n } };

  const first = await createEnv(given, ports);
  const again = await createEnv({ ...given, recreate: true }, ports);

  const requests = await readFile(join(directory, 'cloud/requests.jsonl'), 'utf8');
  for (const number of [
    '18446744073709551613',
    '18446744073709551614',
    '18446744073709551615',
    '9007199254740993',
  ])
    assert.ok(requests.includes(`"large":${number}`), number);
  assert.match(await readFile(options.statePath, 'utf8'), /"large": 18446744073709551614\n/);
  assert.deepEqual([again.changed, again.diskCid], [true, first.diskCid]);
});

test('a run leaves no files with credentials, and no lock', async (t) => {
  const { options, ports, directory } = await testEnvironment(t);

  await createEnv(options, ports);

  const workspace = join(directory, 'workspace');
  const files = await filesBelow(workspace);
  assert.ok(
    files.every((path) => !/\/(jobs|tmp)\//.test(path.slice(workspace.length))),
    files.join('\n'),
  );
  for (const path of files) assert.ok(!(await readFile(path, 'utf8')).includes('secret'), path);
  await assert.rejects(stat(`${options.statePath}.lock`), { code: 'ENOENT' });
  await assert.rejects(stat(`${options.statePath}.pending`), { code: 'ENOENT' });
  assert.equal((await stat(options.statePath)).mode & 0o777, 0o600);
});

test('a second run without a change checks the VM and the agent, and does nothing', async (t) => {
  const { options, ports, cloud, agent, state } = await testEnvironment(t);
  const first = await createEnv(options, ports);
  const before = await state();
  await cloud.forgetRequests();
  agent.calls.length = 0;
  ports.output();

  const again = await createEnv(options, ports);

  assert.deepEqual([again.changed, again.vmCid, again.diskCid], [false, first.vmCid, first.diskCid]);
  assert.match(ports.output(), /\nNo deployment, stemcell or release changes\. Skipping deploy\.\n$/);
  assert.deepEqual(
    [cloud.calls(), agent.verbs, again.state, again.address],
    [['has_vm'], ['get_state'], 'running', '127.0.0.1'],
  );
  assert.deepEqual(await state(), before);
});

test('--skip-drain skips drain only', async (t) => {
  const { options, ports, agent } = await testEnvironment(t);
  await createEnv(options, ports);
  agent.calls.length = 0;
  agent.faults.failing = { verb: 'drain', message: 'must not be called' };

  await createEnv({ ...options, recreate: true, skipDrain: true }, ports);

  assert.deepEqual(agent.verbs.slice(2, 5), ['run_script', 'stop', 'run_script']);
});

test('continues from a state file of another tool, and keeps its unknown keys', async (t) => {
  const { options, ports, cloud, state } = await testEnvironment(t);
  const first = await createEnv(options, ports);
  const { current_manifest_sha: sha, ...rest } = await state();
  const other = {
    ...rest,
    current_manifest_sha: sha,
    releases: null,
    current_release_ids: null,
    future: { kept: true },
  };
  await writeFile(options.statePath, JSON.stringify(other));

  const second = await createEnv(options, ports);

  assert.deepEqual([second.changed, second.diskCid], [true, first.diskCid]);
  assert.deepEqual((await state())['future'], { kept: true });
  assert.deepEqual(cloud.attachedDisks(), [first.diskCid]);
});
