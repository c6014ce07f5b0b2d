import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { packLightStemcell } from '../bosh/stemcell/pack-light-stemcell.ts';
import { createEnv } from './create-env.ts';
import { shutDownVerbs } from './testing/fake-agent.ts';
import { packApp, testEnvironment, tinyStemcell } from './testing/test-environment.ts';

const recreation = [
  'has_disk',
  'check_vm',
  'has_vm',
  'delete_vm',
  'create_vm',
  'set_vm_metadata',
  'attach_disk',
  'set_disk_metadata',
];

test('--recreate creates a new VM around the same disk and compiles no package again', async (t) => {
  const { options, ports, cloud, agent } = await testEnvironment(t);
  const first = await createEnv(options, ports);
  await cloud.forgetRequests();
  agent.calls.length = 0;
  ports.output();

  const second = await createEnv({ ...options, recreate: true }, ports);

  assert.deepEqual(cloud.calls(), recreation);
  assert.deepEqual(cloud.requests().find(({ method }) => method === 'create_vm')?.arguments[4], [
    first.diskCid,
  ]);
  assert.notEqual(second.vmCid, first.vmCid);
  assert.deepEqual(
    [cloud.vms(), cloud.disks(), agent.mountedDisks],
    [[second.vmCid], [first.diskCid], [first.diskCid]],
  );
  assert.deepEqual(agent.verbs.slice(0, 8), ['get_state', ...shutDownVerbs]);
  assert.ok(!agent.verbs.includes('compile_package'));
  assert.match(
    ports.output(),
    /Compiling package 'app\/[0-9a-f]+'\.\.\. Skipped \[Package already compiled\]/,
  );
});

const movingChanges = [
  ['another size of the disk', { from: 'disk_size: 64', to: 'disk_size: 128' }, {}],
  ['other cloud_properties of the disk', { from: '{type: fast}', to: '{type: slow}' }, {}],
  ['--recreate-persistent-disks alone', { from: '', to: '' }, { recreatePersistentDisks: true }],
] as const;

for (const [what, { from, to }, flags] of movingChanges)
  test(`${what} moves the content to a new disk, in the order of bosh`, async (t) => {
    const { options, ports, cloud, agent, editManifest } = await testEnvironment(t);
    const first = await createEnv(options, ports);
    await cloud.forgetRequests();
    agent.calls.length = 0;
    ports.output();
    await editManifest((text) => {
      assert.ok(text.includes(from), text);
      return text.replace(from, to);
    });

    const second = await createEnv({ ...options, ...flags }, ports);

    const moved = ['create_disk', 'attach_disk', 'set_disk_metadata', 'detach_disk', 'delete_disk'];
    assert.deepEqual(cloud.calls(), [...recreation, ...moved]);
    assert.deepEqual(
      [cloud.disks(), cloud.attachedDisks(), agent.mountedDisks],
      Array(3).fill([second.diskCid]),
    );
    assert.notEqual(second.diskCid, first.diskCid);
    const disk = ['add_persistent_disk', 'mount_disk'];
    const start = agent.verbs.indexOf('add_persistent_disk');
    assert.deepEqual(agent.verbs.slice(start, start + 6), [
      ...disk,
      ...disk,
      'migrate_disk',
      'remove_persistent_disk',
    ]);
    const output = ports.output();
    for (const line of [
      `Migrating content from disk '${first.diskCid}' to disk '${second.diskCid}'... Finished`,
      `Detaching disk '${first.diskCid}'... Finished`,
      `Deleting disk '${first.diskCid}'... Finished`,
    ])
      assert.ok(output.includes(line), `${line} is not in ${output}`);
  });

test('a disk that the manifest no longer has is kept, reported once, and then no longer shown', async (t) => {
  const { options, ports, cloud, editManifest } = await testEnvironment(t);
  const { diskCid } = await createEnv(options, ports);
  ports.output();
  await editManifest((text) => text.replace('  persistent_disk_pool: disks\n', ''));

  for (const changed of [true, false]) {
    const result = await createEnv(options, ports);

    assert.deepEqual([result.changed, result.diskCid], [changed, undefined]);
    assert.deepEqual([cloud.attachedDisks(), cloud.disks()], [[], [diskCid]]);
    assert.match(
      ports.output(),
      new RegExp(`^Disk '${diskCid}' is kept and not attached: the manifest has no persistent disk`, 'm'),
    );
  }
  await editManifest((text) => text.replace('resource_pool: vms\n', '$&  persistent_disk_pool: disks\n'));
  assert.equal((await createEnv(options, ports)).diskCid, diskCid);
  assert.doesNotMatch(ports.output(), /is kept/);
});

test('a changed manifest recreates the VM, and a changed package and its dependents are compiled', async (t) => {
  const { options, ports, cloud, agent, directory, editManifest } = await testEnvironment(t);
  await createEnv(options, ports);
  await cloud.forgetRequests();

  await editManifest((text) => text.replace('good day', 'good evening'));
  assert.equal((await createEnv(options, ports)).changed, true);
  assert.deepEqual(cloud.calls(), recreation);

  agent.calls.length = 0;
  await packApp(directory, '2');
  assert.equal((await createEnv(options, ports)).changed, true);
  const compiled = agent.calls
    .filter(({ method }) => method === 'compile_package')
    .map(({ arguments: args }) => args[2]);
  assert.deepEqual(compiled, ['lib', 'app']);
});

test('a stemcell with the same name and version and another image is uploaded, and the VM is created from it', async (t) => {
  const { options, ports, cloud, directory, state } = await testEnvironment(t);
  const named = (imageReference: string) =>
    packLightStemcell(
      { ...tinyStemcell, imageReference, imageDigest: `sha256:${'1'.repeat(64)}` },
      join(directory, 'stemcell.tgz'),
    );
  await named('placeholder:1');
  await createEnv(options, ports);
  const [first] = (await state())['stemcells'] as { readonly cid: string }[];
  await cloud.forgetRequests();
  ports.output();

  await named('registry:1');
  await cloud.fail({ method: 'create_vm', kind: 'error' });
  await assert.rejects(createEnv(options, ports));
  assert.equal((await createEnv(options, ports)).changed, true);

  assert.equal(cloud.calls().filter((method) => method === 'create_stemcell').length, 1);
  const made = cloud.requests().filter(({ method }) => method === 'create_vm');
  assert.equal(made.at(-1)?.arguments[1], 'stemcell-registry:1');
  assert.deepEqual(cloud.requests().find(({ method }) => method === 'delete_stemcell')?.arguments, [
    first?.cid,
  ]);
  assert.match(
    ports.warnings.join('\n'),
    /names another image.*placeholder@sha256:1+, now registry@sha256:1+/u,
  );
  const stemcells = (await state())['stemcells'] as { readonly image: string }[];
  assert.deepEqual(
    stemcells.map(({ image }) => image),
    [`registry@sha256:${'1'.repeat(64)}`],
  );
  await named('registry:other-tag');
  assert.equal((await createEnv(options, ports)).changed, false);
});
