import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { persistentVolumeClaims, pods, secrets } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { Crash, crashingApi } from '../testing/crashing-api.ts';
import { holdCall } from '../testing/held-call.ts';
import { rejection } from '../testing/rejection.ts';
import {
  type TestCloud,
  createVmRequest,
  groupEnv,
  namesLeft,
  namespace,
  testCloud,
} from '../testing/test-cloud.ts';
import { checkVm } from './check-vm.ts';
import { createVm } from './create-vm.ts';
import { deleteVm } from './delete-vm.ts';
import { setVmMetadata } from './set-vm-metadata.ts';
import type { CreateVmRequest } from '../protocol/methods.ts';

const recreate = { kubernetes: { attach: 'recreate' } };

/** Two VMs of one deployment, each in its own instance group, that request the same address. */
const first = (env: object = groupEnv('compilation-1')): CreateVmRequest =>
  createVmRequest({ agentId: 'first', env });
const second = (env: object = groupEnv('compilation-2')): CreateVmRequest =>
  createVmRequest({ agentId: 'second', env });

/** The number of the write by which create_vm creates its pod. */
const podWrite = { hot: 2, recreate: 4 };

async function killed(cloud: CallContext, request: CreateVmRequest, write: number): Promise<void> {
  const dying = { ...cloud, api: crashingApi(cloud.api, write, 'after') };
  await assert.rejects(createVm(dying, request), (error) => error instanceof Crash);
}

/** Returns a world in which the first create_vm was killed after it created its pod. */
async function withUnfinished(
  t: TestContext,
  config: Record<string, unknown> = {},
  env?: object,
): Promise<TestCloud> {
  const world = await testCloud(t, config);
  await killed(world.cloud, first(env), 'kubernetes' in config ? podWrite.recreate : podWrite.hot);
  return world;
}

const uidOf = async ({ api }: TestCloud, name: string): Promise<string | undefined> =>
  (await api.get<KubernetesObject>({ resource: secrets, namespace, name })).metadata.uid;

/** Returns the versions of all objects, without what the node reports about its pods. */
async function versions({ api }: TestCloud): Promise<string[]> {
  const lists = await Promise.all(
    [secrets, persistentVolumeClaims].map((resource) => api.list<KubernetesObject>(resource, { namespace })),
  );
  const vms = await api.list<KubernetesObject>(pods, { namespace });
  return [
    ...lists.flatMap(({ items }) =>
      items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
    ),
    ...vms.items.map(({ metadata }) => JSON.stringify([metadata.name, metadata.uid, metadata.annotations])),
  ].toSorted();
}

for (const write of [1, 2]) {
  test(`a create_vm that was killed after its write ${write} does not bar its address from another VM of the deployment`, async (t) => {
    const world = await testCloud(t);
    await killed(world.cloud, first(), write);
    const [cid] = await createVm(world.cloud, second());
    assert.equal(cid, 'vm-second');
    // a Secret without a pod has no address; `orphans` lists it
    const left = write === 1 ? ['secrets vm-first'] : [];
    assert.deepEqual((await namesLeft(world.api)).toSorted(), [
      'pods vm-second',
      ...left,
      'secrets vm-second',
    ]);
  });
}

test('under recreate, too: the claims of the VM that did not get ready go with it', async (t) => {
  const world = await withUnfinished(t, recreate);
  await createVm(world.cloud, second());
  assert.deepEqual((await namesLeft(world.api)).toSorted(), [
    'persistentvolumeclaims vm-second-data',
    'persistentvolumeclaims vm-second-state',
    'pods vm-second',
    'secrets vm-second',
  ]);
});

test('the removal of a VM that did not get ready is told to the operator', async (t) => {
  const world = await withUnfinished(t);
  const notes: string[] = [];
  await createVm({ ...world.cloud, log: (line) => notes.push(line) }, second());
  assert.match(
    notes.join('\n'),
    /^VM 'vm-first', which had the address 127\.64\.0\.10 of VM 'vm-second', was removed: its create_vm had not finished$/u,
  );
});

test('check_vm lets pass what create_vm replaces, and changes nothing', async (t) => {
  const world = await withUnfinished(t);
  const before = await versions(world);
  await checkVm(world.cloud, second());
  assert.deepEqual(await versions(world), before);
});

test('the same agent id again finishes its VM, which is not replaced from then on', async (t) => {
  const world = await withUnfinished(t);
  const before = await uidOf(world, 'vm-first');
  await createVm(world.cloud, first());
  assert.equal(await uidOf(world, 'vm-first'), before);
  await assert.rejects(createVm(world.cloud, second()), rejection('VM_CREATION_FAILED', /has the address/u));
});

const deploymentEnv = (director: string, deployment: string): object => {
  const group = `${director}-${deployment}-web`;
  return {
    bosh: {
      group,
      groups: [director, deployment, 'web', `${director}-${deployment}`, `${deployment}-web`, group],
    },
  };
};
const byDirector =
  /; choose another one, or delete that VM first, if that deployment does not need it: bosh -d deployment delete-vm vm-first$/u;
const byCreateEnv =
  /, with delete-env of its manifest; .*'bosh-kubernetes state restore MANIFEST'.*; if a killed create-env left it, run that again, or: kubectl delete secret vm-first -n bosh \(docs\/recovery\.md\)$/u;

interface Kept {
  readonly config?: Record<string, unknown>;
  readonly firstEnv?: object;
  readonly secondEnv?: object;
  readonly directorUuid?: string | undefined;
  readonly prepare?: (cloud: CallContext) => Promise<unknown>;
  readonly message?: RegExp;
}

const attach = async (cloud: CallContext): Promise<unknown> => {
  const disk = await createDisk(cloud, { sizeMiB: 64, cloudProperties: {} });
  return attachDisk(cloud, { vmCid: 'vm-first', diskCid: disk });
};
const kept: Readonly<Record<string, Kept>> = {
  'of another deployment of the director': { secondEnv: deploymentEnv('director', 'other') },
  'of another director by its name': { secondEnv: deploymentEnv('other', 'deployment') },
  'of another director by its uuid': { directorUuid: 'director-2' },
  'of a director while the caller names none': { directorUuid: undefined },
  'of a director, with a create-env after it': { secondEnv: {} },
  'of a create-env, with a director after it': { firstEnv: {}, message: byCreateEnv },
  'of a create-env, with another one after it': { firstEnv: {}, secondEnv: {}, message: byCreateEnv },
  'that was finished': { prepare: (cloud) => createVm(cloud, first()) },
  'that has metadata': {
    prepare: (cloud) =>
      setVmMetadata(cloud, {
        vmCid: 'vm-first',
        metadata: { director: 'director', deployment: 'deployment' },
      }),
  },
  'that has a disk': { prepare: attach },
  'that has a disk under recreate': { config: recreate, prepare: attach },
};

for (const [name, { config, firstEnv, secondEnv, prepare, ...row }] of Object.entries(kept)) {
  test(`a VM keeps its address, and nothing is changed: one ${name}`, async (t) => {
    const world = await withUnfinished(t, config ?? {}, firstEnv);
    await prepare?.(world.cloud);
    const before = await versions(world);
    const directorUuid = 'directorUuid' in row ? row.directorUuid : world.cloud.directorUuid;
    const cloud = { ...world.cloud, directorUuid };
    const refused = rejection('VM_CREATION_FAILED', row.message ?? byDirector);
    await assert.rejects(createVm(cloud, second(secondEnv)), refused);
    await assert.rejects(checkVm(cloud, second(secondEnv)), refused);
    assert.deepEqual(await versions(world), before);
  });
}

test('of two VMs that have its addresses neither is removed if one of them is kept', async (t) => {
  const world = await withUnfinished(t);
  const other = { type: 'manual', ip: 'fd00::7', netmask: 'ffff:ffff:ffff:ffff::', cloud_properties: {} };
  await createVm(world.cloud, createVmRequest({ agentId: 'other', networks: { six: other } }));
  const before = await versions(world);
  const networks = {
    four: { type: 'manual', ip: '127.64.0.10', netmask: '255.255.255.0', cloud_properties: {} },
    six: other,
  };
  await assert.rejects(
    createVm(world.cloud, createVmRequest({ agentId: 'second', env: groupEnv('web'), networks })),
    rejection('VM_CREATION_FAILED', /VM 'vm-other' has the address fd00::7/u),
  );
  assert.deepEqual(await versions(world), before);
});

test('the command in the message names the deployment as its director does', async (t) => {
  const world = await withUnfinished(t);
  await setVmMetadata(world.cloud, {
    vmCid: 'vm-first',
    metadata: { director: 'd', deployment: 'My_Deployment' },
  });
  await assert.rejects(
    createVm(world.cloud, second()),
    rejection('VM_CREATION_FAILED', /bosh -d My_Deployment delete-vm vm-first$/u),
  );
  await setVmMetadata(world.cloud, {
    vmCid: 'vm-first',
    metadata: { director: 'd', deployment: '$(reboot)' },
  });
  await assert.rejects(
    createVm(world.cloud, second()),
    rejection('VM_CREATION_FAILED', /bosh -d deployment delete-vm vm-first$/u),
  );
});

for (const request of ['create pods vm-first', 'patch secrets vm-first']) {
  test(`a create_vm that goes on before "${request}", after another VM has got its address, fails and leaves that VM alone`, async (t) => {
    const world = await testCloud(t);
    const slow = holdCall(world.cloud, request, (cloud) => createVm(cloud, first()));
    await slow.arrived;
    await createVm(world.cloud, second());
    const before = await uidOf(world, 'vm-second');
    await assert.rejects(slow.release(), rejection('VM_CREATION_FAILED_RETRY', /run the call again/u));
    assert.equal(await uidOf(world, 'vm-second'), before);
    assert.deepEqual((await namesLeft(world.api)).toSorted(), ['pods vm-second', 'secrets vm-second']);
  });
}

test('a VM that is finished while another create_vm is about to remove it stays', async (t) => {
  const world = await testCloud(t);
  const slow = holdCall(world.cloud, 'patch secrets vm-first', (cloud) => createVm(cloud, first()));
  await slow.arrived;
  const other = holdCall(world.cloud, 'patch secrets vm-first', (cloud) => createVm(cloud, second()));
  await other.arrived;
  await slow.release();
  const before = await versions(world);
  await assert.rejects(other.release(), rejection('VM_CREATION_FAILED', byDirector));
  assert.deepEqual(await versions(world), before);
});

test('a VM that gets metadata while another create_vm is about to remove it stays, and its own call finishes it', async (t) => {
  const world = await withUnfinished(t);
  const other = holdCall(world.cloud, 'patch secrets vm-first', (cloud) => createVm(cloud, second()));
  await other.arrived;
  const before = await uidOf(world, 'vm-first');
  await setVmMetadata(world.cloud, {
    vmCid: 'vm-first',
    metadata: { director: 'director', deployment: 'deployment' },
  });
  await assert.rejects(other.release(), rejection('VM_CREATION_FAILED', byDirector));
  await createVm(world.cloud, first());
  assert.equal(await uidOf(world, 'vm-first'), before);
});

for (const config of [{}, recreate]) {
  test(`a VM that gets a disk while another create_vm is about to remove it stays, as does the disk: ${JSON.stringify(config)}`, async (t) => {
    const world = await withUnfinished(t, config);
    const other = holdCall(world.cloud, 'patch secrets vm-first', (cloud) => createVm(cloud, second()));
    await other.arrived;
    const before = await uidOf(world, 'vm-first');
    await attach(world.cloud);
    await assert.rejects(other.release(), rejection('VM_CREATION_FAILED', byDirector));
    await createVm(world.cloud, first());
    assert.equal(await uidOf(world, 'vm-first'), before);
    assert.equal((await namesLeft(world.api)).filter((name) => /claims disk-/u.test(name)).length, 1);
  });

  test(`a disk that comes when the removal has begun survives the VM: ${JSON.stringify(config)}`, async (t) => {
    const world = await withUnfinished(t, { ...config, deadlines: { delete_vm: 1 } });
    const disk = await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: {} });
    const other = holdCall(world.cloud, 'delete secrets vm-first', (cloud) => createVm(cloud, second()));
    await other.arrived;
    await attachDisk(world.cloud, { vmCid: 'vm-first', diskCid: disk });
    // as with a concurrent delete_vm: the attachment pod, or the pod with the disk, was created after the
    // removal had looked for it
    await assert.rejects(other.release(), rejection('VM_CREATION_FAILED_RETRY', /VM 'vm-first'/u));
    await createVm(world.cloud, second());
    const { metadata } = await world.api.get({ resource: persistentVolumeClaims, namespace, name: disk });
    assert.equal(metadata.deletionTimestamp, undefined);
    await attachDisk(world.cloud, { vmCid: 'vm-second', diskCid: disk });
  });
}

test('of two create_vm that make their pods for one address at the same time, at most one answers success', async (t) => {
  const world = await testCloud(t);
  const calls = [
    holdCall(world.cloud, 'create pods vm-first', (cloud) => createVm(cloud, first())),
    holdCall(world.cloud, 'create pods vm-second', (cloud) => createVm(cloud, second())),
  ];
  await Promise.all(calls.map(({ arrived }) => arrived));
  const ends = await Promise.allSettled(calls.map(({ release }) => release()));
  const made = ends.filter(({ status }) => status === 'fulfilled').length;
  assert.ok(made <= 1);
  for (const end of ends)
    if (end.status === 'rejected')
      assert.ok(
        rejection('VM_CREATION_FAILED_RETRY', /made at the same time|run the call again/u)(end.reason),
      );
  assert.equal((await namesLeft(world.api)).length, made * 2);
  if (made === 0) await createVm(world.cloud, second());
});

test('of two create_vm that remove the same VM both go on to the end of that, and one gets the address', async (t) => {
  const world = await withUnfinished(t);
  const third = (cloud: CallContext): Promise<unknown> =>
    createVm(cloud, createVmRequest({ agentId: 'third', env: groupEnv('web') }));
  const held = holdCall(world.cloud, 'patch secrets vm-first', third);
  await held.arrived;
  await createVm(world.cloud, second());
  await assert.rejects(held.release(), rejection('VM_CREATION_FAILED_RETRY', /VM 'vm-second'/u));
  assert.deepEqual((await namesLeft(world.api)).toSorted(), ['pods vm-second', 'secrets vm-second']);
});

for (const config of [{}, recreate]) {
  test(`a repeated create_vm that removes an abandoned VM leaves the VM alone that a third one has made since: ${JSON.stringify(config)}`, async (t) => {
    const world = await withUnfinished(t, config);
    const dying = { ...world.cloud, api: crashingApi(world.api, 1, 'after') };
    await assert.rejects(createVm(dying, second()), (error) => error instanceof Crash);
    const repeated = holdCall(world.cloud, 'get secrets vm-first', (cloud) => createVm(cloud, first()), 2);
    await repeated.arrived;
    await createVm(world.cloud, first());
    const before = await versions(world);
    await repeated.release();
    assert.deepEqual(await versions(world), before);
  });

  test(`a create_vm whose VM was deleted, and created again by a repeated call, leaves the new VM alone: ${JSON.stringify(config)}`, async (t) => {
    const world = await testCloud(t, config);
    const slow = holdCall(world.cloud, 'create pods vm-first', (cloud) => createVm(cloud, first()));
    await slow.arrived;
    await deleteVm(world.cloud, { vmCid: 'vm-first' });
    await createVm(world.cloud, first());
    const before = await versions(world);
    await assert.rejects(
      slow.release(),
      rejection('VM_CREATION_FAILED_RETRY', /other calls create objects of its name at the same time/u),
    );
    assert.deepEqual(await versions(world), before);
  });
}
