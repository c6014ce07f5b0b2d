import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { MountError } from './mount/mount-error.ts';
import { driverDirectory, nfsOptions, safeDescription, testDriver } from './testing/test-driver.ts';

// Bugs of nfsv3driver and smbdriver, with our own numbers. B6 is in driver.test.ts, B9 and B14 are in mount/,
// B10 and B13 in options/.

test('concurrent mounts of one name are one mount', async (t) => {
  const { call, mounter } = await testDriver(t);
  await call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  const answers = await Promise.all(
    Array.from({ length: 6 }, () => call('VolumeDriver.Mount', { Name: 'v' })),
  );
  assert.deepEqual([...new Set(answers.map(({ Err }) => Err))], ['']);
  assert.equal(mounter.calls.filter((each) => each.startsWith('mount ')).length, 1);
  assert.equal((await call('VolumeDriver.List')).Volumes?.[0]?.MountCount, 6);
});

test('each failed mount returns its cause, is not counted, and leaves no directory', async (t) => {
  const directory = await driverDirectory(t);
  const { call, mounter } = await testDriver(t, { directory });
  mounter.before = async () => {
    throw new MountError('NO_SUCH_SHARE', 'The server has no such share (mount.nfs: No such file)');
  };
  await call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  for (const _ of [1, 2, 3]) {
    const failed = await call('VolumeDriver.Mount', { Name: 'v' });
    assert.equal(
      safeDescription(failed),
      'NO_SUCH_SHARE: The server has no such share (mount.nfs: No such file)',
    );
    assert.equal((await call('VolumeDriver.List')).Volumes?.[0]?.MountCount, 0);
  }
  assert.deepEqual(await readdir(join(directory, 'mounts')), ['.state']);
});

test('the state and the directories are private, and no umask is set around mounts', async (t) => {
  const directory = await driverDirectory(t);
  const { call, mounter } = await testDriver(t, { directory });
  const umask = process.umask();
  mounter.before = async () => assert.equal(process.umask(), umask);
  await call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  assert.equal((await call('VolumeDriver.Mount', { Name: 'v' })).Err, '');
  const modeOf = async (...path: string[]): Promise<number> =>
    (await stat(join(directory, 'mounts', ...path))).mode & 0o777;
  assert.deepEqual([await modeOf(), await modeOf('.state'), await modeOf('v')], [0o711, 0o700, 0o700]);
  for (const file of (await readdir(join(directory, 'mounts', '.state'))).filter((name) =>
    name.endsWith('.json'),
  ))
    assert.equal(await modeOf('.state', file), 0o600);
});

test('Mount after a restart works without Create, and a drain leaves no records', async (t) => {
  const directory = await driverDirectory(t);
  const first = await testDriver(t, { directory });
  await first.call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  await first.running.stop();
  const { call, running, mounter } = await testDriver(t, { directory });
  assert.equal((await call('VolumeDriver.Mount', { Name: 'v' })).Err, '');
  assert.equal((await fetch(`http://${running.adminAddress}/evacuate`)).status, 200);
  assert.equal(mounter.mounts.size, 0);
  const records = (await readdir(join(directory, 'mounts', '.state'))).filter((name) =>
    name.endsWith('.json'),
  );
  assert.deepEqual(records, []);
});

test('property: after any concurrent requests the mounts match the counts', async (t) => {
  const directory = await driverDirectory(t);
  const { call, mounter } = await testDriver(t, { directory });
  let failing = 0;
  mounter.before = async () => {
    failing += 1;
    if (failing % 3 === 0) throw new MountError('UNREACHABLE', 'no answer');
  };
  const name = fc.constantFrom<unknown>('a', 'b', 'a', 'b', '..', '', 5, null);
  const request = fc.record({
    verb: fc.constantFrom('Create', 'Mount', 'Mount', 'Unmount', 'Remove', 'Get', 'Path', 'List'),
    body: fc.record(
      {
        Name: name,
        ID: fc.constantFrom<unknown>('x', 'y', '', 7, {}),
        Opts: fc.oneof(fc.constant(nfsOptions), fc.jsonValue()),
      },
      { requiredKeys: ['Name'] },
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 12 }), async (requests) => {
      const answers = await Promise.all(requests.map(({ verb, body }) => call(`VolumeDriver.${verb}`, body)));
      for (const { Err } of answers) assert.equal(typeof Err, 'string');
      const { Volumes = [] } = await call('VolumeDriver.List');
      const counted = Volumes.filter(({ MountCount }) => MountCount > 0).map(({ Mountpoint }) => Mountpoint);
      assert.deepEqual(counted.toSorted(), [...mounter.mounts.keys()].toSorted());
      for (const { Name } of Volumes) assert.equal((await call('VolumeDriver.Remove', { Name })).Err, '');
      assert.equal(mounter.mounts.size, 0);
    }),
    { numRuns: 40, interruptAfterTimeLimit: 20_000 },
  );
  assert.deepEqual(await readdir(join(directory, 'mounts')), ['.state']);
});
