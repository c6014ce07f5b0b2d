import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chown, mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { type Phase, recordText, VolumeStore, type VolumeRecord } from './volume-store.ts';
import { type MemoryMounter, memoryMounter } from './testing/memory-mounter.ts';
import { type CallDriver, driverDirectory, nfsOptions, testDriver } from './testing/test-driver.ts';
import type { VolumeName } from '../options/volume-name.ts';

const spec = {
  kind: 'nfs',
  host: 'server',
  path: '/export',
  readOnly: false,
  attributeCaching: false,
} as const;

/** Returns a directory in which a driver has run, and the mounter of that driver. */
async function usedDirectory(
  t: TestContext,
): Promise<{ directory: string; mounter: MemoryMounter; bootId: string }> {
  const directory = await driverDirectory(t);
  const { running, call, mounter } = await testDriver(t, { directory });
  await call('VolumeDriver.Create', { Name: 'first', Opts: nfsOptions });
  const { records } = await new VolumeStore(join(directory, 'mounts', '.state')).load();
  await call('VolumeDriver.Remove', { Name: 'first' });
  await running.stop();
  return { directory, mounter, bootId: records[0]?.bootId ?? '' };
}

const countsOf = async (call: CallDriver): Promise<Record<string, number>> =>
  Object.fromEntries(
    ((await call('VolumeDriver.List')).Volumes ?? []).map(({ Name, MountCount }) => [Name, MountCount]),
  );

test('with 1,000 volumes, mounts are adopted, incomplete steps are undone, and a drain unmounts all', async (t) => {
  const { directory, mounter, bootId } = await usedDirectory(t);
  const halfDone: [Phase, boolean][] = [
    ['mounting', true],
    ['mounting', false],
    ['unmounting', true],
  ];
  for (let number = 0; number < 1000; number += 1) {
    const name = `volume-${number}` as VolumeName;
    const rest: [Phase, boolean] = number < 200 ? ['mounted', true] : ['created', false];
    const [phase, isMounted] = number < 970 ? rest : (halfDone[number % 3] ?? rest);
    const count = phase === 'mounted' ? 1 : 0;
    const file = `${createHash('sha256').update(name).digest('hex')}.json`;
    await writeFile(
      join(directory, 'mounts', '.state', file),
      recordText({ ...record(name, bootId), phase, count }),
      { mode: 0o600 },
    );
    if (isMounted) mounter.mounts.set(join(directory, 'mounts', name), spec);
  }
  const { running, call } = await testDriver(t, { directory, mounter });
  await until('the undone mounts', async () => mounter.mounts.size === 200);
  await until('what is over', async () => Object.keys(await countsOf(call)).length === 990);
  const counts = Object.values(await countsOf(call));
  assert.equal(counts.filter((count) => count === 1).length, 200);
  assert.equal((await call('VolumeDriver.Mount', { Name: 'volume-999' })).Err, '');
  const evacuated = await fetch(`http://${running.adminAddress}/evacuate`);
  assert.deepEqual([evacuated.status, mounter.mounts.size], [200, 0]);
  assert.deepEqual(await countsOf(call), {});
});

const record = (name: VolumeName, bootId: string): VolumeRecord => ({
  name,
  phase: 'mounted',
  options: nfsOptions,
  lacksSecrets: false,
  count: 1,
  ids: [],
  isKept: false,
  bootId,
});

test('a mount without a record is unmounted, unless a record is unreadable, which is set aside', async (t) => {
  const { directory, mounter } = await usedDirectory(t);
  const state = join(directory, 'mounts', '.state');
  const stray = join(directory, 'mounts', 'stray');
  mounter.mounts.set(stray, spec);
  const second = await testDriver(t, { directory, mounter });
  await until('the stray to go', async () => mounter.mounts.size === 0);
  await second.running.stop();

  for (const text of [
    '',
    '{"version":1,',
    '[]',
    '{"version":2,"name":"torn"}',
    'null',
    '{"version":1,"name":"../x"}',
  ]) {
    mounter.mounts.set(stray, spec);
    await writeFile(join(state, `${'a'.repeat(64)}.json`), text);
    const driver = await testDriver(t, { directory, mounter });
    assert.deepEqual(await countsOf(driver.call), { stray: 1 }, text);
    assert.ok((await readdir(state)).some((name) => name.endsWith('.unreadable')));
    assert.equal((await driver.call('VolumeDriver.Unmount', { Name: 'stray' })).Err, '');
    assert.equal(mounter.mounts.size, 0);
    await driver.running.stop();
  }
});

test('the mounts of an upstream driver are counted as before, and its state file is removed', async (t) => {
  const directory = await driverDirectory(t);
  const mountDir = join(directory, 'mounts');
  await mkdir(mountDir, { mode: 0o777 });
  const old = { a: { Name: 'a', Mountpoint: '/x', MountCount: 2 }, ghost: { Name: 'ghost', MountCount: 1 } };
  await writeFile(join(mountDir, 'driver-state.json'), JSON.stringify(old));
  const mounter = memoryMounter();
  for (const name of ['a', 'unlisted']) mounter.mounts.set(join(mountDir, name), spec);
  const { call } = await testDriver(t, { directory, mounter });
  assert.deepEqual(await countsOf(call), { a: 2, unlisted: 1 });
  assert.deepEqual(await readdir(mountDir), ['.state']);
});

test("after a reboot no volume is in use: volman's volumes are removed, and Docker's are kept", async (t) => {
  const { directory, mounter } = await usedDirectory(t);
  const store = new VolumeStore(join(directory, 'mounts', '.state'));
  store.put(record('of-volman' as VolumeName, 'former'));
  store.put({ ...record('of-docker' as VolumeName, 'former'), isKept: true, count: 0, ids: ['id'] });
  const { call } = await testDriver(t, { directory, mounter });
  assert.deepEqual(await countsOf(call), { 'of-docker': 0 });
  assert.equal((await call('VolumeDriver.Mount', { Name: 'of-docker', ID: 'id' })).Err, '');
});

test('a state that another user could have written is a start error, and nothing is mounted or unmounted', async (t) => {
  const { directory, mounter } = await usedDirectory(t);
  const state = join(directory, 'mounts', '.state');
  mounter.mounts.set(join(directory, 'mounts', 'v'), spec);
  const before = mounter.calls.length;
  const start = (): Promise<unknown> => testDriver(t, { directory, mounter });
  await symlink('/etc/hostname', join(state, 'link.json'));
  await assert.rejects(start(), { code: 'FILE_NOT_TRUSTED', message: /link\.json/u });
  await rename(join(state, 'link.json'), join(directory, 'link'));
  if (process.getuid?.() === 0) {
    await writeFile(join(state, 'foreign.json'), '{}');
    await chown(join(state, 'foreign.json'), 4001, 4001);
    await assert.rejects(start(), { code: 'FILE_NOT_TRUSTED', message: /foreign\.json/u });
  }
  assert.equal(mounter.calls.length, before);
  assert.equal(mounter.mounts.size, 1);
});

test('a second driver on the same mount directory does not start', async (t) => {
  const directory = await driverDirectory(t);
  const { mounter } = await testDriver(t, { directory });
  await assert.rejects(testDriver(t, { directory, mounter }), /another volume driver runs on/u);
});

test('a failed write of state is an error, and leaves no mount', async (t) => {
  const { call, mounter } = await testDriver(t);
  await call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  const full = (): never => {
    throw Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' });
  };
  // the first write records the start of the mount
  t.mock.method(VolumeStore.prototype, 'put').mock.mockImplementationOnce(full, 1);
  assert.match((await call('VolumeDriver.Mount', { Name: 'v' })).Err, /ENOSPC/u);
  assert.equal(mounter.mounts.size, 0);
});
