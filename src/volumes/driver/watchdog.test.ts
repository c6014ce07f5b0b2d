import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { MountError } from './mount/mount-error.ts';
import { untilDeadline } from './testing/memory-mounter.ts';
import type { TestDriver } from './testing/test-driver.ts';
import { driverDirectory, nfsOptions, testDriver } from './testing/test-driver.ts';

/** Starts a driver with a watchdog and one mounted volume. */
async function watched(
  t: TestContext,
): Promise<TestDriver & { target: string; metric: (name: string) => Promise<number> }> {
  const directory = await driverDirectory(t);
  const args = ['-watchInterval', '20ms', '-mountTimeout', '50ms', '-unmountTimeout', '50ms'];
  const driver = await testDriver(t, { directory, args });
  await driver.call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  assert.equal((await driver.call('VolumeDriver.Mount', { Name: 'v' })).Err, '');
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`http://${driver.running.adminAddress}/metrics`)).text();
    return Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.slice(name.length),
    );
  };
  return { ...driver, target: join(directory, 'mounts', 'v'), metric };
}

test('a missing mount, or one whose helper died, is mounted again and counted', async (t) => {
  const { mounter, target, metric, call } = await watched(t);
  await until(
    'the healthy mount',
    async () => (await metric('volume_driver_mounts{health="answers"}')) === 1,
  );
  mounter.mounts.delete(target);
  await until('the new mount', async () => mounter.mounts.has(target));
  mounter.health.set(target, 'stale');
  await until('the next new mount', async () => !mounter.health.has(target));
  await until(
    'both in the metrics',
    async () => (await metric('volume_driver_remounts_total{result="mounted"}')) === 2,
  );
  assert.equal((await call('VolumeDriver.List')).Volumes?.[0]?.MountCount, 1);
  assert.deepEqual([...mounter.mounts.keys()], [target], 'no trial is left');
});

test('a mount with a silent server is unchanged until the server responds', async (t) => {
  const { mounter, target, metric, call } = await watched(t);
  mounter.before = (_order, _target, signal) => untilDeadline(signal);
  mounter.health.set(target, 'stale');
  const trials = (): number =>
    mounter.calls.filter((each) => each.startsWith('mount') && each.includes('/.trial-')).length;
  await until('two trials', async () => trials() >= 2);
  assert.ok(mounter.mounts.has(target));
  assert.ok(!mounter.calls.includes(`unmount ${target}`));
  assert.equal(await metric('volume_driver_mounts{health="stale"}'), 1);
  // the app stops in the meantime, and its unmount does not wait for the trial mount
  assert.equal((await call('VolumeDriver.Unmount', { Name: 'v' })).Err, '');
  assert.ok(!mounter.mounts.has(target));
});

test('a failed unmount is retried later, and a failed mount is not', async (t) => {
  const { mounter, target, call } = await watched(t);
  mounter.beforeUnmount = async () => {
    throw new MountError('BUSY', 'somebody uses it');
  };
  assert.match((await call('VolumeDriver.Unmount', { Name: 'v' })).Err, /BUSY: somebody uses it/u);
  assert.ok(mounter.mounts.has(target));
  mounter.beforeUnmount = async () => undefined;
  await until('the unmount', async () => !mounter.mounts.has(target));
  await until('its end', async () => (await call('VolumeDriver.List')).Volumes?.length === 0);
});

test('a silent server delays no mount of another server, with any number of mounts on it', async (t) => {
  const args = ['-watchInterval', '20ms', '-mountTimeout', '10m'];
  const { mounter, call, running } = await testDriver(t, { directory: await driverDirectory(t), args });
  const mounted = async (Name: string, source: string): Promise<string> => {
    await call('VolumeDriver.Create', { Name, Opts: { source } });
    const { Err, Mountpoint = '' } = await call('VolumeDriver.Mount', { Name });
    assert.equal(Err, '');
    return Mountpoint;
  };
  const silent: string[] = [];
  for (let index = 0; index < 20; index += 1)
    silent.push(await mounted(`silent-${index}`, `nfs://silent/export/${index}`));
  const healthy = [await mounted('first', 'nfs://healthy/a'), await mounted('second', 'nfs://healthy/b')];
  const trials = { begun: 0, ended: 0 };
  mounter.before = async (spec, _target, signal) => {
    if (spec.kind !== 'nfs' || spec.host !== 'silent') return;
    trials.begun += 1;
    await untilDeadline(signal).finally(() => (trials.ended += 1));
  };
  for (const target of silent) mounter.health.set(target, 'stale');
  await until('a trial', async () => trials.begun > 0);
  // once when the first check of the silent server has begun, and again during it
  for (const target of [...healthy, ...healthy]) {
    mounter.mounts.delete(target);
    await until('the mount of the healthy server', async () => mounter.mounts.has(target));
  }
  assert.equal(trials.ended, 0);
  assert.ok(trials.begun <= 2, `${trials.begun} mounts of one server at once`);
  await running.stop();
});

test('checks of silent servers wait for each other, and checks of responding servers do not wait for them', async (t) => {
  const args = ['-watchInterval', '20ms', '-mountTimeout', '50ms'];
  const { mounter, call, log, running } = await testDriver(t, { directory: await driverDirectory(t), args });
  const mounted = async (Name: string): Promise<string> => {
    await call('VolumeDriver.Create', { Name, Opts: { source: `nfs://${Name}/export` } });
    return (await call('VolumeDriver.Mount', { Name })).Mountpoint ?? '';
  };
  const names = Array.from({ length: 40 }, (_, index) => `silent-${index}`);
  const targets: string[] = [];
  for (const name of names) targets.push(await mounted(name));
  let waits: (signal: AbortSignal) => Promise<void> = untilDeadline;
  mounter.before = async (spec, _target, signal) => {
    if (spec.kind === 'nfs' && spec.host !== 'healthy') await waits(signal);
  };
  for (const each of targets) mounter.health.set(each, 'stale');
  // each has failed once
  await until('the first look', async () =>
    names.every((name) =>
      log.some((line) => line.includes('driver-server.watch') && line.includes(`"${name}"`)),
    ),
  );
  const release = Promise.withResolvers<void>();
  const pendingSignals = new Set<AbortSignal>();
  waits = async (signal) => {
    pendingSignals.add(signal);
    await release.promise;
  };
  try {
    await until('what may wait at once', async () => pendingSignals.size >= 16);
    const target = await mounted('healthy');
    mounter.mounts.delete(target);
    await until('the mount of the healthy server', async () => mounter.mounts.has(target));
    assert.equal(pendingSignals.size, 16);
  } finally {
    release.resolve();
    await running.stop();
  }
});
