import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { packLightStemcell } from '../../src/bosh/stemcell/pack-light-stemcell.ts';
import { resourceQuotas } from '../../src/kubernetes/resources.ts';
import { assertConverged, assertNothingLeft, assertSucceeded } from '../crash/support/converged.ts';
import { OperatorEnvironment, type Outcome } from '../crash/support/operator-environment.ts';

const nothing = { vms: [], attachments: [], disks: [], secrets: [] };

let line: OperatorEnvironment;
let original: string;

before(async () => {
  line = await OperatorEnvironment.prepare({ address: '127.64.78.60' });
  original = await readFile(line.manifestPath, 'utf8');
});
afterEach(() => writeFile(line.manifestPath, original));
after(() => line.remove());

function assertRefused({ exitCode, stdout, stderr }: Outcome, ...parts: readonly (string | RegExp)[]): void {
  assert.equal(exitCode, 1, stdout);
  for (const word of parts) {
    if (typeof word === 'string') assert.ok(stderr.includes(word), `${word} is not in: ${stderr}`);
    else assert.match(stderr, word);
  }
  assert.doesNotMatch(stderr, /^ +at /m);
}

async function edit(from: string | RegExp, to: string): Promise<void> {
  const text = original.replace(from, to);
  assert.notEqual(text, original);
  await writeFile(line.manifestPath, text);
}

test('only one of two concurrent runs deploys, and the other names the process of the first', async () => {
  const outcomes = await Promise.all([line.up(), line.up()]);

  const [done, refused] = outcomes.toSorted((one, other) => (one.exitCode ?? 9) - (other.exitCode ?? 9));
  assert.ok(done !== undefined && refused !== undefined);
  assertSucceeded(done);
  assertRefused(refused, /(?:running .*|Another run )\(process \d+, since /, '[DEPLOYMENT_LOCKED]');
  await assertConverged(line);
});

test('another size of the disk moves its content to a new disk, and back to a smaller one', async () => {
  const content = await line.jobResponse();
  for (const size of [128, 64]) {
    const { disks } = await line.state();
    if (size === 64) await writeFile(line.manifestPath, original);
    else await edit('disk_size: 64', `disk_size: ${size}`);

    const moved = await line.up();

    assertSucceeded(moved);
    assert.match(moved.stdout, new RegExp(`Migrating content from disk '${disks[0]?.cid ?? ''}'`));
    const { disks: resized } = await line.state();
    assert.deepEqual(
      resized.map((disk) => disk.size),
      [size],
    );
    assert.notEqual(resized[0]?.cid, disks[0]?.cid);
    assert.equal(await assertConverged(line), content);
  }
});

test('a VM that cannot be created is refused while the previous one runs, and a full quota has room for its replacement', async () => {
  const content = await line.jobResponse();
  const state = await line.state();
  const api = await line.api();
  const quota = {
    metadata: { namespace: 'bosh', name: 'full' },
    spec: { hard: { pods: '2', 'requests.cpu': '1' } },
  };
  await api.create(resourceQuotas, quota as never);
  const none = /cloud_properties: \{\}/;
  for (const [from, to, message] of [
    [none, 'cloud_properties: {cpu: 2}', 'ResourceQuota full leaves no room: requests.cpu 2'],
    [none, 'cloud_properties: {ephemeral_disk: {storage_class: gold}}', 'does not have: \\"gold\\"'],
    [none, 'cloud_properties: {priority_class: gold}', 'no PriorityClass with name gold'],
    [/ +static_ips: .*\n/, '', 'networks.default.ip is missing'],
    [/gateway: .*/, `gateway: ${line.address}`, `the address ${line.address} is the gateway's`],
  ] as const) {
    await edit(from, to);
    const refused = await line.up();
    assertRefused(refused, 'Checking that the VM can be created', message, '[CPI_ERROR]');
    assert.doesNotMatch(refused.stdout, /Stopping jobs|Deleting VM/);
    assert.deepEqual(await line.state(), state);
    assert.equal(await assertConverged(line), content);
  }
  await writeFile(line.manifestPath, original);

  const recreated = await line.command(['up', line.manifestPath, '--recreate']);

  assertSucceeded(recreated);
  assert.notEqual((await line.state()).current_vm_cid, state.current_vm_cid);
  assert.equal(await assertConverged(line), content);
  await api.delete({ resource: resourceQuotas, namespace: 'bosh', name: 'full' });
});

test('a truncated state file is refused and unchanged', async () => {
  const text = await readFile(line.statePath, 'utf8');
  await writeFile(line.statePath, text.slice(0, 100));

  const refused = await line.up();

  assertRefused(refused, `'${line.statePath}' is not JSON; restore it from a backup`, '[STATE_INVALID]');
  assert.equal(await readFile(line.statePath, 'utf8'), text.slice(0, 100));
  await writeFile(line.statePath, text);
  assertSucceeded(await line.up());
});

test('without its vars store the VM gets new certificates and keeps its disk', async () => {
  const content = await line.jobResponse();
  await rm(line.varsStorePath);

  const recreated = await line.up();

  assertSucceeded(recreated);
  assert.match(recreated.stderr, /Warning: The agent of VM '.*' did not stop its jobs .* certificate/s);
  assert.equal(await assertConverged(line), content);
});

test('a VM whose pod was deleted is created again with its disk', async () => {
  const content = await line.jobResponse();
  const { disks, current_vm_cid: vm } = await line.state();
  await line.kubectl('delete', 'pod', vm);

  const recreated = await line.up();

  assertSucceeded(recreated);
  assert.match(recreated.stderr, new RegExp(`VM '${vm}' no longer exists in the cluster`));
  assert.equal(await assertConverged(line), content);
  assert.deepEqual((await line.state()).disks, disks);
});

test('another cluster than that of the state file is refused, and no record is removed', async () => {
  const content = await line.jobResponse();
  const state = await readFile(line.statePath, 'utf8');
  const { current_vm_cid: vm, disks } = await line.state();
  const elsewhere = { environment: { BOSH_KUBERNETES_HOME: join(line.directory, 'other-home') } };
  const own = [
    '--state',
    join(line.directory, 'other.json'),
    '--vars-store',
    join(line.directory, 'other.yml'),
  ];
  const noted = await readFile(`${line.statePath}.cluster`, 'utf8');
  try {
    const parts = [vm, disks[0]?.cid ?? '', line.kubeconfig, 'BOSH_KUBERNETES_HOME', '[OTHER_CLUSTER]'];
    assertRefused(await line.up(elsewhere), ...parts);
    assertRefused(await line.command(['destroy', line.manifestPath, '--force'], elsewhere), ...parts);
    // Like the state of the bosh CLI or of a version before cluster notes.
    await rm(`${line.statePath}.cluster`);
    assertRefused(await line.up(elsewhere), vm, /nothing of that is on /, '[OTHER_CLUSTER]');
    const unnoted = await line.command(['destroy', line.manifestPath, '--force'], elsewhere);
    assertRefused(unnoted, vm, "'delete-env' with the flags of its create-env deletes it", '[OTHER_CLUSTER]');
  } finally {
    assertSucceeded(await line.command(['destroy', line.manifestPath, '--force', ...own], elsewhere));
  }

  assert.equal(await readFile(line.statePath, 'utf8'), state);
  const again = await line.up();
  assertSucceeded(again);
  assert.match(again.stdout, /Skipping deploy/);
  assert.equal(await readFile(`${line.statePath}.cluster`, 'utf8'), noted);
  assert.equal(await assertConverged(line), content);
});

test('a deleted claim that is attached stays until its VM releases it, and status reports it', async () => {
  const content = await line.jobResponse();
  const disk = (await line.state()).disks[0]?.cid ?? '';
  await line.kubectl('delete', 'pvc', disk, '--wait=false');

  assert.equal(await line.jobResponse(), content);
  assert.match((await line.command(['status'])).stdout, new RegExp(`^${disk} .*Terminating`, 'm'));
  assertSucceeded(await line.up());
  assert.equal(await line.jobResponse(), content);
  assertRefused(await line.deleteEnv(), 'kubectl patch pv', 'kubectl annotate pvc', '[CPI_ERROR]');
  await line.kubectl('annotate', 'pvc', disk, 'bosh.cloudfoundry.org/give-up=true');
  assertSucceeded(await line.deleteEnv());
  await assertNothingLeft(line);
});

test('unknown keys and classes are named', async () => {
  const disk = /disk_size: 64\n {4}cloud_properties: \{\}/;
  await edit(/cloud_properties: \{\}/, 'cloud_properties: {cpuz: 1}');
  assertRefused(await line.up(), 'check_vm.cloud_properties', 'cpuz', 'known are cpu', '[CPI_ERROR]');
  assert.deepEqual(await line.objects(), nothing);

  await edit(disk, 'disk_size: 64\n    cloud_properties: {klass: 1}');
  assertRefused(await line.up(), 'create_disk.cloud_properties', 'klass', 'known are storage_class');

  await edit(disk, 'disk_size: 64\n    cloud_properties: {storage_class: gold}');
  assertRefused(await line.up(), 'a class that the cluster does not have', 'gold');
  assert.deepEqual((await line.objects()).disks, []);
  assertSucceeded(await line.deleteEnv());
});

test('a missing image is VMCreationFailed, and leaves no objects', async () => {
  const imageReference = 'registry.invalid/none:1';
  const stemcell = join(line.directory, 'odd-stemcell.tgz');
  await packLightStemcell(
    { name: 'odd', version: '1', operatingSystem: 'host-root', imageReference },
    stemcell,
  );
  await edit(/file:.*embedded-stemcell.tgz/, `file://${stemcell}`);

  const refused = await line.up();

  assertRefused(refused, 'Bosh::Clouds::VMCreationFailed', 'ErrImagePull', imageReference);
  assert.deepEqual(await line.objects(), nothing);
});

test('an address in use by another program of this machine is named, and used once it is free', async () => {
  const other = createServer().listen(6868, line.address);
  await once(other, 'listening');
  const refused = await line.up();
  other.close();
  await once(other, 'close');

  assertRefused(refused, `a process listens on ${line.address}:6868`, '[ADDRESS_TAKEN]');
  assert.deepEqual(await line.objects(), nothing);
  assertSucceeded(await line.up());
  await assertConverged(line);
});

test('a deployment without a cluster record belongs to the cluster that has its VM', async () => {
  await rm(`${line.statePath}.cluster`);

  assertSucceeded(await line.command(['destroy', line.manifestPath, '--force']));

  assert.deepEqual([existsSync(line.statePath), existsSync(line.clusterDirectory)], [false, false]);
});
