import assert from 'node:assert/strict';
import { request } from 'node:http';
import { mkdir, readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { MountError } from './mount/mount-error.ts';
import { untilDeadline } from './testing/memory-mounter.ts';
import {
  driverDirectory,
  nfsOptions,
  safeDescription,
  smbOptions,
  testDriver,
} from './testing/test-driver.ts';

test('volman: each route returns its response, and the directory of a volume is created and removed', async (t) => {
  const directory = await driverDirectory(t);
  const { call, mounter, log } = await testDriver(t, { directory });
  const Mountpoint = join(directory, 'mounts', 'id_c');
  assert.deepEqual(await call('Plugin.Activate'), { Err: '', Implements: ['VolumeDriver'] });
  assert.deepEqual(await call('VolumeDriver.Capabilities'), { Capabilities: { Scope: 'local' } });
  assert.deepEqual(await call('VolumeDriver.Create', { Name: 'id_c', Opts: nfsOptions }), { Err: '' });
  assert.deepEqual(await call('VolumeDriver.Path', { Name: 'id_c' }), {
    Err: 'volume not previously mounted',
    Mountpoint: '',
  });
  assert.deepEqual(await call('VolumeDriver.Mount', { Name: 'id_c' }), { Err: '', Mountpoint });
  assert.deepEqual(await call('VolumeDriver.Path', { Name: 'id_c' }), { Err: '', Mountpoint });
  assert.deepEqual(await call('VolumeDriver.Get', { Name: 'id_c' }), {
    Volume: { Name: 'id_c', Mountpoint, MountCount: 0 },
    Err: '',
  });
  assert.deepEqual(await call('VolumeDriver.Mount', { Name: 'id_c' }), { Err: '', Mountpoint });
  const mounted = { Volumes: [{ Name: 'id_c', Mountpoint, MountCount: 2 }], Err: '' };
  assert.deepEqual(await call('VolumeDriver.List'), mounted);
  assert.deepEqual([...mounter.mounts.keys()], [Mountpoint]);
  for (const _ of [1, 2]) assert.deepEqual(await call('VolumeDriver.Unmount', { Name: 'id_c' }), { Err: '' });
  assert.deepEqual(await call('VolumeDriver.List'), { Volumes: [], Err: '' });
  assert.deepEqual([...mounter.mounts.keys()], []);
  assert.deepEqual(await readdir(join(directory, 'mounts')), ['.state']);
  assert.match(log[0] ?? '', /nfs-driver-server\.recovered/u);
  assert.match(log.join(''), /driver-server\.started/u);
});

test('the driver returns the messages of the upstream drivers, all with status 200', async (t) => {
  const { call } = await testDriver(t);
  const error = async (verb: string, body?: unknown): Promise<string> =>
    (await call(`VolumeDriver.${verb}`, body)).Err;
  for (const verb of ['Create', 'Mount', 'Unmount', 'Remove', 'Path'])
    assert.equal(await error(verb, {}), "Missing mandatory 'volume_name'", verb);
  for (const Opts of [undefined, {}, { source: 5 }, [], 'x', null])
    assert.equal(await error('Create', { Name: 'v', Opts }), "Missing mandatory 'source' field in 'Opts'");
  assert.equal(await error('Mount', { Name: 'v' }), "Volume 'v' must be created before being mounted");
  assert.equal(await error('Get', { Name: 'v' }), 'volume not found');
  assert.equal(await error('Path', { Name: 'v' }), "Volume 'v' not found");
  assert.equal(await error('Unmount', { Name: 'v' }), "Volume 'v' not found");
  assert.equal(await error('Remove', { Name: 'v' }), '');
});

test('a malformed request is rejected', async (t) => {
  const { running, mounter } = await testDriver(t);
  const url = `http://${running.address}`;
  const post = async (body: string | Uint8Array<ArrayBuffer>): Promise<string> =>
    (await fetch(`${url}/VolumeDriver.Create`, { method: 'POST', body })).text();
  for (const body of ['{', '[]', '5', '"x"', 'null', new Uint8Array([0xff, 0xfe])])
    assert.equal(await post(body), '{"Err":"the body must be a JSON object in UTF-8"}');
  assert.match(await post(JSON.stringify({ Name: 'x'.repeat(300_000) })), /more than 262144 bytes/u);
  assert.equal((await fetch(`${url}/VolumeDriver.Create`)).status, 405);
  assert.equal((await fetch(`${url}/VolumeDriver.Nothing`, { method: 'POST' })).status, 404);
  assert.equal((await fetch(`${url}/__proto__`, { method: 'POST' })).status, 404);
  assert.deepEqual(mounter.calls, []);
});

test("Docker: the driver returns Docker's media type, and counts mounts by their ids", async (t) => {
  const { running, call, mounter } = await testDriver(t);
  const type = 'application/vnd.docker.plugins.v1.2+json';
  const activated = await fetch(`http://${running.address}/Plugin.Activate`, {
    method: 'POST',
    headers: { accept: type },
  });
  assert.equal(activated.headers.get('content-type'), type);
  await call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  for (const ID of ['a', 'a', 'b'])
    assert.equal((await call('VolumeDriver.Mount', { Name: 'v', ID })).Err, '');
  assert.equal((await call('VolumeDriver.List')).Volumes?.[0]?.MountCount, 2);
  for (const ID of ['a', 'a', 'unknown'])
    assert.equal((await call('VolumeDriver.Unmount', { Name: 'v', ID })).Err, '');
  assert.equal(mounter.mounts.size, 1);
  assert.equal((await call('VolumeDriver.Unmount', { Name: 'v', ID: 'b' })).Err, '');
  assert.equal(mounter.mounts.size, 0);
  // Docker may mount a volume again after it created it once
  assert.equal((await call('VolumeDriver.Mount', { Name: 'v', ID: 'c' })).Err, '');
  assert.equal((await call('VolumeDriver.Remove', { Name: 'v' })).Err, '');
  assert.deepEqual((await call('VolumeDriver.List')).Volumes, []);
  assert.equal(mounter.mounts.size, 0);
});

test('certification of drivers: missing options, the log, and Unmount after a failed mount are as expected', async (t) => {
  const { call, log } = await testDriver(t, { args: ['-name', 'smbdriver'] });
  const { source } = smbOptions;
  assert.equal((await call('VolumeDriver.Create', { Name: 'v', Opts: { source } })).Err, '');
  const failed = await call('VolumeDriver.Mount', { Name: 'v' });
  assert.equal(safeDescription(failed), 'INVALID_OPTION: - Missing mandatory options: username, password');
  assert.match((await call('VolumeDriver.Unmount', { Name: 'v' })).Err, /^Volume v does not exist/u);
  assert.deepEqual((await call('VolumeDriver.List')).Volumes, []);
  assert.equal((await call('VolumeDriver.Create', { Name: 'v', Opts: smbOptions })).Err, '');
  assert.equal((await call('VolumeDriver.Mount', { Name: 'v' })).Err, '');
  assert.match(log.join(''), /smb-driver-server\.started/u);
  assert.match(log.join(''), /REDACTED/u);
  assert.doesNotMatch(log.join(''), /open sesame/u);
});

test('no secret is on the disk, and a restarted driver requests another Create', async (t) => {
  const directory = await driverDirectory(t);
  const args = ['-name', 'smbdriver'];
  const first = await testDriver(t, { directory, args });
  await first.call('VolumeDriver.Create', { Name: 'v', Opts: smbOptions });
  await first.call('VolumeDriver.Mount', { Name: 'v' });
  await first.running.stop();
  const state = join(directory, 'mounts', '.state');
  for (const file of await readdir(state))
    assert.doesNotMatch(await readFile(join(state, file), 'latin1'), /open sesame/u);
  const { mounter } = first;
  const { call } = await testDriver(t, { directory, args, mounter });
  assert.equal((await call('VolumeDriver.List')).Volumes?.[0]?.MountCount, 1, 'adopted');
  assert.equal((await call('VolumeDriver.Mount', { Name: 'v' })).Err, '', 'its mount answers');
  mounter.mounts.clear();
  assert.match(safeDescription(await call('VolumeDriver.Mount', { Name: 'v' })), /restart the app/u);
  await call('VolumeDriver.Create', { Name: 'v', Opts: smbOptions });
  assert.equal((await call('VolumeDriver.Mount', { Name: 'v' })).Err, '');
});

test('a name that is not a plain entry of the mount directory is refused by each verb, and nothing is created', async (t) => {
  const directory = await driverDirectory(t);
  const { call, mounter } = await testDriver(t, { directory });
  const names = [
    '..',
    '.',
    '../../evil',
    'a/b',
    '/a',
    'a\\b',
    'a..b',
    'a\0',
    'a\n',
    '.state',
    'v_mapfs',
    'é'.repeat(125),
    5,
    {},
    ['v'],
  ];
  for (const Name of names)
    for (const verb of ['Create', 'Mount', 'Unmount', 'Remove', 'Path', 'Get'])
      assert.match(
        (await call(`VolumeDriver.${verb}`, { Name, Opts: nfsOptions })).Err,
        /^invalid volume name: /u,
        `${verb} ${JSON.stringify(Name)}`,
      );
  assert.deepEqual(await readdir(join(directory, 'mounts')), ['.state']);
  assert.deepEqual(mounter.calls, []);
  const longestName = 'v'.repeat(249);
  await call('VolumeDriver.Create', { Name: longestName, Opts: nfsOptions });
  assert.equal((await call('VolumeDriver.Mount', { Name: longestName })).Err, '');
});

test('a mount ends at its deadline, is not counted, and delays no other volume', async (t) => {
  const { call, mounter } = await testDriver(t, { args: ['-mountTimeout', '50ms'] });
  mounter.before = (_order, target, signal) =>
    target.endsWith('/frozen') ? untilDeadline(signal) : Promise.resolve();
  for (const Name of ['frozen', 'v']) await call('VolumeDriver.Create', { Name, Opts: nfsOptions });
  const frozen = call('VolumeDriver.Mount', { Name: 'frozen' });
  assert.equal((await call('VolumeDriver.Mount', { Name: 'v' })).Err, '');
  assert.match(safeDescription(await frozen), /^TIMED_OUT: /u);
  const counts = (await call('VolumeDriver.List')).Volumes?.map(({ Name, MountCount }) => [Name, MountCount]);
  assert.deepEqual(counts, [
    ['frozen', 0],
    ['v', 1],
  ]);
});

test('a client that disconnects before its response leaves no mount', async (t) => {
  const { running, call, mounter } = await testDriver(t);
  await call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  const begun = Promise.withResolvers<void>();
  mounter.before = (_order, _target, signal) => {
    begun.resolve();
    return untilDeadline(signal);
  };
  const sent = request(`http://${running.address}/VolumeDriver.Mount`, { method: 'POST' });
  sent.on('error', () => undefined);
  sent.end(JSON.stringify({ Name: 'v' }));
  await begun.promise;
  sent.destroy();
  await until('the undone mount', async () => mounter.calls.at(-1)?.startsWith('unmount') === true);
  assert.equal((await call('VolumeDriver.List')).Volumes?.[0]?.MountCount, 0);
});

test('files at the mount point are named, and kept', async (t) => {
  const directory = await driverDirectory(t);
  const { call, mounter } = await testDriver(t, { directory });
  const target = join(directory, 'mounts', 'v');
  await call('VolumeDriver.Create', { Name: 'v', Opts: nfsOptions });
  await mkdir(target);
  await writeFile(join(target, 'file'), 'kept');
  const answer = safeDescription(await call('VolumeDriver.Mount', { Name: 'v' }));
  assert.match(answer, /^BUSY: .*mounts\/v'.*move these files/u);
  assert.equal(await readFile(join(target, 'file'), 'utf8'), 'kept');
  assert.equal(mounter.mounts.size, 0);
});

test('a drain retries failed unmounts, and names the remaining mounts at its end', async (t) => {
  const directory = await driverDirectory(t);
  const { running, call, mounter } = await testDriver(t, { directory });
  for (const Name of ['busy', 'folder-stays']) {
    await call('VolumeDriver.Create', { Name, Opts: nfsOptions });
    assert.equal((await call('VolumeDriver.Mount', { Name })).Err, '');
  }
  let tries = 0;
  mounter.beforeUnmount = async (target) => {
    if (target.endsWith('/busy') && (tries += 1) < 3) throw new MountError('BUSY', 'an app uses it');
    // the share is unmounted, but its empty directory is not removed
    if (target.endsWith('/folder-stays')) {
      mounter.mounts.delete(target);
      throw new MountError('FAILED', 'the folder is not empty');
    }
  };
  const evacuated = await fetch(`http://${running.adminAddress}/evacuate`);
  assert.equal(evacuated.status, 200, await evacuated.text());
  assert.deepEqual([tries, mounter.mounts.size], [3, 0]);
});

test('a drain removes the spec file first, unmounts all volumes, names the rest at the deadline, and stops the process', async (t) => {
  const directory = await driverDirectory(t);
  const deadline = new AbortController();
  const { running, call, mounter, log } = await testDriver(t, {
    directory,
    args: ['-drainTimeout', '7s'],
    drainDeadline: (milliseconds) => {
      assert.equal(milliseconds, 7000);
      return deadline.signal;
    },
  });
  const admin = async (path: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`http://${running.adminAddress}${path}`);
    return { status: response.status, text: await response.text() };
  };
  assert.deepEqual(await admin('/ping'), { status: 200, text: '{"Err":""}' });
  for (const Name of ['a', 'b', 'c']) {
    await call('VolumeDriver.Create', { Name, Opts: nfsOptions });
    await call('VolumeDriver.Mount', { Name });
  }
  mounter.beforeUnmount = async (target, signal) => {
    assert.deepEqual(await readdir(join(directory, 'drivers')), []);
    if (target.endsWith('/c')) await untilDeadline(signal);
  };
  const evacuating = admin('/evacuate');
  const progress = (): number => log.filter((line) => line.includes('drain-progress')).length;
  await until('the others', async () => progress() === 2);
  deadline.abort();
  const evacuated = await evacuating;
  assert.equal(evacuated.status, 500);
  assert.match(evacuated.text, /1 volumes are still mounted: c/u);
  await running.evacuated;
  await call('VolumeDriver.Create', { Name: 'd', Opts: nfsOptions });
  assert.match(safeDescription(await call('VolumeDriver.Mount', { Name: 'd' })), /the driver is draining/u);
  assert.match((await admin('/metrics')).text, /volume_driver_mount_duration_seconds_count 3/u);
});

test('a unix socket that only root can open replaces a leftover file', async (t) => {
  const directory = await driverDirectory(t);
  const path = join(directory, 'drivers', 'nfsv3driver.sock');
  await mkdir(join(directory, 'drivers'));
  await writeFile(path, 'left');
  const { running } = await testDriver(t, {
    directory,
    args: ['-transport', 'unix', '-listenAddr', path],
  });
  assert.equal(running.address, path);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  const answer = await new Promise<string>((resolve, reject) => {
    request({ socketPath: path, path: '/Plugin.Activate', method: 'POST' }, (response) =>
      resolve(text(response)),
    )
      .on('error', reject)
      .end();
  });
  assert.match(answer, /VolumeDriver/u);
});
