import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { attachDisk } from '../../cpi/disk/attach-disk.ts';
import { setDiskMetadata } from '../../cpi/disk/set-disk-metadata.ts';
import { Crash, crashingApi } from '../../cpi/testing/crashing-api.ts';
import { interceptingApi } from '../../cpi/testing/intercepting-api.ts';
import { createVmRequest, namespace } from '../../cpi/testing/test-cloud.ts';
import { createVm } from '../../cpi/vm/create-vm.ts';
import { setVmMetadata } from '../../cpi/vm/set-vm-metadata.ts';
import { emptyState } from '../../deploy/state/deployment-state.ts';
import { isProductError } from '../../errors/product-error.ts';
import { persistentVolumeClaims, pods, secrets } from '../../kubernetes/resources.ts';
import { type OrphanWorld, orphanWorld } from '../testing/orphan-world.ts';

const dayMs = 24 * 60 * 60 * 1000;

test('orphans --delete deletes what no list names, and nothing that a list names', async (t) => {
  const world = await orphanWorld(t);
  const before = await world.names();
  const { left } = world;

  const { exitCode, out, errors } = await world.clean({ lists: await world.lists(), force: true });

  assert.deepEqual(errors, []);
  assert.equal(exitCode, 0);
  const after = await world.names();
  assert.deepEqual(
    before.filter((name) => !after.includes(name)),
    [left.vm, left.disk, left.snapshot].toSorted(),
  );
  for (const name of Object.values(left)) assert.match(out, new RegExp(`${name} .*not in use`, 'u'));
  assert.match(out, new RegExp(`${world.used.snapshot} .*in use`, 'u'));
});

test('incomplete, foreign or contradictory lists of a director delete nothing', async (t) => {
  const world = await orphanWorld(t);
  const before = await world.names();
  const [instances = '', disks = '', snapshots = ''] = await world.lists();
  const cut = async (path: string): Promise<string> =>
    world.write('cut.json', (await readFile(path, 'utf8')).slice(0, -40));
  const other = { environment: '10.0.0.7' };
  const withoutDetails = (await readFile(instances, 'utf8')).replace('"vm_cid": "VM CID",', '');
  const noTables = JSON.stringify({
    Tables: null,
    Blocks: null,
    Lines: ["Using environment 'a' as b", 'Succeeded'],
  });
  const cases: Record<string, readonly string[]> = {
    'no list of instances': [disks, snapshots],
    'no list of disks': [instances, snapshots],
    'instances of one deployment': [await world.list('instances', { deployment: 'dep' }), disks, snapshots],
    'instances without the VM that exists': [
      await world.list('instances', { rows: [{ vm_cid: 'vm-x', disk_cids: world.used.disk }] }),
      disks,
      snapshots,
    ],
    'instances of another cluster': [
      await world.list('instances', { rows: [{ vm_cid: 'vm-x', disk_cids: '' }] }),
      await world.list('disks', { rows: [] }),
      snapshots,
    ],
    'no instances at all': [await world.list('instances', { rows: [] }), disks, snapshots],
    'a list that was cut off': [await cut(instances), disks, snapshots],
    'an empty file': [await world.write('empty.json', ''), disks, snapshots],
    'Tables: null': [await world.write('null.json', noTables), disks, snapshots],
    'a failed command': [
      await world.list('instances', { lines: ['Using environment', 'Exit code 1'] }),
      disks,
      snapshots,
    ],
    'a list of another director': [instances, await world.list('disks', other), snapshots],
    'instances without --details': [await world.write('brief.json', withoutDetails), disks, snapshots],
    'a row without its column': [
      await world.write('row.json', (await readFile(disks, 'utf8')).replace(/"disk_cid": "disk-.*",/u, '')),
      instances,
      snapshots,
    ],
  };
  for (const [name, lists] of Object.entries(cases)) {
    await assert.rejects(
      world.clean({ lists, force: true }),
      (error) => isProductError(error, 'LIST_INVALID') && error.message.endsWith('nothing was deleted'),
      name,
    );
    assert.deepEqual(await world.names(), before, name);
  }
});

test("a director's orphaned VM stays, and its list shows that the other lists are complete", async (t) => {
  const world = await orphanWorld(t);
  const { cloud, left } = world;
  await createVm(cloud, createVmRequest({ agentId: 'kept', networks: { default: { type: 'dynamic' } } }));
  await setVmMetadata(cloud, { vmCid: 'vm-kept', metadata: { deployment: 'dep', job: 'web', index: '1' } });
  const before = await world.names();
  const lists = await world.lists();
  await assert.rejects(world.clean({ lists, force: true }), {
    code: 'LIST_INVALID',
    message: /names VM 'vm-kept'.*--director-json with: bosh orphaned-vms --json; nothing was deleted/u,
  });
  assert.deepEqual(await world.names(), before);

  // A VM that create_vm has not finished is the only kind that `orphans` deletes.
  const kept = await world.list('orphaned_vms', { rows: [{ vm_cid: 'vm-kept' }, { vm_cid: left.vm }] });
  const { out, exitCode } = await world.clean({ lists: [...lists, kept], force: true });

  assert.equal(exitCode, 0);
  assert.match(out, new RegExp(`${left.vm} .*in use`, 'u'));
  const after = await world.names();
  assert.deepEqual(
    before.filter((name) => !after.includes(name)),
    [left.disk, left.snapshot].toSorted(),
  );
});

test('lists that are not a day younger than an object, or lack its deployment, keep it', async (t) => {
  const world = await orphanWorld(t);
  const before = await world.names();
  const keeps = async (lists: readonly string[], reason: RegExp): Promise<void> => {
    const { exitCode, out } = await world.clean({ lists, force: true });
    assert.equal(exitCode, 0);
    assert.match(out, reason);
  };
  const oldest = await world.list('disks', { ageMs: 1.5 * dayMs });
  const [instances = '', disks = '', snapshots = ''] = await world.lists();
  await keeps([instances, oldest, snapshots], /not a day older/u);
  assert.deepEqual(await world.names(), before);

  const elsewhere = await world.list('snapshots', { deployment: 'other', rows: [] });
  await keeps([instances, disks, elsewhere], /snapshots of deployment dep were not given/u);
  const noDisk = await world.list('instances', { rows: [{ vm_cid: world.used.vm, disk_cids: '-' }] });
  await keeps(
    [noDisk, disks, await world.list('snapshots', { rows: [] })],
    /its disk belongs to no instance/u,
  );
  const after = await world.names();
  assert.deepEqual(
    before.filter((name) => !after.includes(name)),
    [world.left.vm, world.left.disk].toSorted(),
  );
});

test('a state file shows the use of its own owner only, and keeps a disk whose cid it waits for', async (t) => {
  const world = await orphanWorld(t);
  const before = await world.names();
  const state = async (name: string, change: object): Promise<string> =>
    world.write(name, JSON.stringify({ ...emptyState, installation_id: 'one', ...change }));
  const keeps = async (path: string, reason: RegExp, kept: readonly string[] = before): Promise<void> => {
    const { out } = await world.clean({ states: [path], force: true });
    assert.match(out, reason);
    assert.deepEqual(await world.names(), kept);
  };
  await keeps(
    await state('other.json', { director_id: 'director-2' }),
    /its owner director-1 was not given/u,
  );
  await keeps(await state('none.json', { director_id: '' }), /its owner director-1 was not given/u);

  const record = { id: 'd', cid: world.left.disk, size: 64, cloud_properties: {} };
  const recorded = { director_id: 'director-1', current_vm_cid: world.left.vm, disks: [record] };
  await keeps(await state('recorded.json', recorded), /in use/u);
  const ofContext = { ...recorded, disks: [{ ...record, cid: `east:${world.left.disk}` }] };
  await keeps(await state('context.json', ofContext), new RegExp(`disk +${world.left.disk} .*in use`, 'u'));
  const waiting = await state('waiting.json', { director_id: 'director-1' });
  const disk = { id: 'p', size: 64, vm_cid: world.left.vm, requested_at: '2026-01-01T00:00:00Z' };
  const vm = { agent_id: 'left', arguments_sha256: 'x' };
  await writeFile(`${waiting}.pending`, JSON.stringify({ installation_id: 'one', vm, disks: [disk] }));
  await keeps(waiting, /waits for the cid of a new disk/u);
});

/** Deletes while `intercept` acts before the first request of that name. */
async function cleanDuring(world: OrphanWorld, request: string, act: () => Promise<unknown>) {
  let isDone = false;
  const api = interceptingApi(world.api, async (each) => {
    if (isDone || each !== request) return;
    isDone = true;
    await act();
  });
  const result = await world.clean({ lists: await world.lists(), force: true, api });
  assert.ok(isDone, request);
  return result;
}

test('an object that gets into use between the list and its deletion stays', async (t) => {
  const world = await orphanWorld(t);
  const { cloud, left, used } = world;
  const diskCid = left.disk;
  const metadata = { deployment: 'dep' };
  const claims = { resource: persistentVolumeClaims, namespace, name: diskCid };
  const annotate = (text: string) =>
    world.api.patch(claims, { metadata: { annotations: { 'example.org/a': text } } });
  const attempts: [string, () => Promise<unknown>, RegExp][] = [
    [`delete persistentvolumeclaims ${diskCid}`, () => annotate('1'), /has changed/u],
    [`get persistentvolumeclaims ${diskCid}`, () => annotate('2'), /has changed/u],
    [
      `get persistentvolumeclaims ${diskCid}`,
      () =>
        world.api.create(pods, {
          metadata: { name: 'rescue', namespace },
          spec: {
            containers: [{ name: 'c', image: 'i' }],
            volumes: [{ name: 'v', persistentVolumeClaim: { claimName: diskCid } }],
          },
        } as never),
      /pod 'rescue' uses it/u,
    ],
    [
      `delete persistentvolumeclaims ${diskCid}`,
      () => setDiskMetadata(cloud, { diskCid, metadata }),
      /has changed/u,
    ],
  ];
  for (const [request, act, reason] of attempts) {
    const { exitCode, errors } = await cleanDuring(world, request, act);
    assert.equal(exitCode, 1, request);
    assert.match(errors.join('\n'), reason);
    const names = await world.names();
    assert.ok(names.includes(diskCid), request);
    for (const name of Object.values(used)) assert.ok(names.includes(name), name);
    await world.api
      .delete({ resource: pods, namespace, name: 'rescue' }, { gracePeriodSeconds: 0 })
      .catch(() => undefined);
  }
});

test('a VM that a slow create_vm completes between the list and its deletion stays', async (t) => {
  const world = await orphanWorld(t);
  const { cloud, left } = world;
  const request = createVmRequest({ agentId: 'left', networks: { default: { type: 'dynamic' } } });

  const secret = { resource: secrets, namespace, name: left.vm };
  const annotate = () => world.api.patch(secret, { metadata: { annotations: { 'example.org/a': 'x' } } });
  const early = await cleanDuring(world, `get secrets ${left.vm}`, annotate);
  assert.match(early.errors.join('\n'), /VM 'vm-left' stays: it has changed/u);

  const { errors } = await cleanDuring(world, `patch secrets ${left.vm}`, () => createVm(cloud, request));

  assert.match(errors.join('\n'), /VM 'vm-left' stays: a create_vm has finished it/u);
  assert.ok((await world.names()).includes(left.vm));
});

test('a disk that is attached between the list and its deletion stays attached', async (t) => {
  const world = await orphanWorld(t);
  const { cloud, left, used } = world;
  const attach = () => attachDisk(cloud, { vmCid: used.vm, diskCid: left.disk });

  const { errors } = await cleanDuring(world, `delete persistentvolumeclaims ${left.disk}`, attach);

  assert.match(errors.join('\n'), /disk '.*' stays/u);
  const names = await world.names();
  assert.ok(names.includes(left.disk));
  // The disk has left the orphans for good: it was in use once.
  const { out } = await world.clean({ lists: await world.lists(), force: true });
  assert.doesNotMatch(out, new RegExp(left.disk, 'u'));
});

test('a run that is killed between its deletions has deleted only unused objects, and the next run deletes the rest', async (t) => {
  const world = await orphanWorld(t);
  const { used, left } = world;
  const lists = await world.lists();
  for (const moment of ['before', 'after'] as const)
    for (let write = 1; write <= 3; write += 1) {
      const api = crashingApi(world.api, write, moment);
      const run = world.clean({ lists, force: true, api });
      await run.catch((error: unknown) => assert.ok(error instanceof Crash));
      const names = await world.names();
      for (const name of Object.values(used)) assert.ok(names.includes(name), name);
    }
  const { exitCode } = await world.clean({ lists, force: true });
  assert.equal(exitCode, 0);
  const names = await world.names();
  for (const name of Object.values(left)) assert.ok(!names.includes(name), name);
});

test('each kind is asked for with sizes and ages, and only a yes deletes it', async (t) => {
  const world = await orphanWorld(t);
  const { left } = world;
  const lists = await world.lists();
  const before = await world.names();
  const silent = await world.clean({ lists });
  assert.equal(silent.exitCode, 1);
  assert.match(silent.errors.join('\n'), /1 disk stays?: input is not a terminal\. Use --force/u);
  assert.deepEqual(await world.names(), before);

  const { exitCode, out } = await world.clean({ lists, answers: ['no', 'y', 'yes'] });
  assert.equal(exitCode, 1);
  assert.match(out, /Delete 1 VM\? .*Delete 1 snapshot\? .*Delete 1 disk\?/su);
  assert.match(out, new RegExp(`${left.disk} +64Mi +2d`, 'u'));
  const after = await world.names();
  assert.deepEqual(
    before.filter((name) => !after.includes(name)),
    [left.disk],
  );
});
