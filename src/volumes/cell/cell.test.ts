import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { runApp } from './run-app.ts';
import { mountInfo, notRoot, run, testCell } from './testing/test-cell.ts';

const skip = notRoot;

test(
  'an app has its volumes at their directories while it runs, as its user and with their modes',
  { skip },
  async (t) => {
    const { directory, driver, ports, steps, volume, spec } = await testCell(t);
    const [photos, rules] = [await volume('photos'), await volume('rules', { isReadOnly: true })];
    await ports.volman.scan();
    const before = await mountInfo(directory);
    // no mount gets a response before all are requested
    let requestCount = 0;
    const { mount } = driver;
    driver.mount = async (name) => {
      requestCount += 1;
      await until('the other mount', async () => requestCount === 2);
      return mount(name);
    };
    const script = `set -u; id -u; id -g; id -G; grep -h 'CapEff\\|NoNewPrivs' /proc/self/status
    touch "$1/made" && stat -c %u "$1/made"; touch "$2/made" 2>&1
    grep -c "$1" /proc/self/mountinfo; exit 7`;
    const out = join(photos.containerDir, 'said');
    const command = ['sh', '-c', `{ ${script}; } > "$3"`, 'sh', photos.containerDir, rules.containerDir, out];
    assert.equal(await runApp(spec(command, [photos, rules]), ports), 7);
    const content = await readFile(join(directory, 'shares/photos/said'), 'utf8');
    assert.match(
      content,
      /^2000\n2000\n2000\nCapEff:\s0+\nNoNewPrivs:\s1\n2000\n.*Read-only file system\n1\n$/u,
    );
    assert.equal((await stat(join(directory, 'shares/photos/made'))).uid, 2000);
    assert.equal(await mountInfo(directory), before);
    assert.deepEqual(
      [await readdir(join(directory, 'apps')), await readdir(join(directory, 'mounts'))],
      [[], []],
    );
    assert.deepEqual(
      (await readdir(join(directory, 'state'))).filter((name) => name !== 'records.lock'),
      [],
    );
    assert.deepEqual(steps.slice(-4), [
      'end',
      'unmount nfsv3driver rules',
      'unmount nfsv3driver photos',
      'forget',
    ]);
    assert.equal(driver.volumes.size, 0);
  },
);

test('an app is not started if one volume fails, and the others are unmounted', { skip }, async (t) => {
  const { directory, driver, ports, volume, spec } = await testCell(t);
  const [photos, gone] = [await volume('photos'), await volume('gone')];
  await ports.volman.scan();
  const before = await mountInfo(directory);
  const { mount } = driver;
  driver.mount = async (name) => {
    if (name.startsWith('gone')) throw new Error('the server has no such export');
    return mount(name);
  };
  await assert.rejects(runApp(spec(['touch', join(photos.containerDir, 'ran')], [photos, gone]), ports), {
    code: 'CONTAINER_FAILED',
    message: `failed to mount volume, errors: ${gone.containerDir}: the server has no such export`,
  });
  assert.equal(existsSync(join(directory, 'shares/photos/ran')), false);
  assert.equal(await mountInfo(directory), before);
  assert.equal(driver.volumes.size, 0);
  // a driver that mounts in another namespace leaves an empty, writable directory
  driver.mount = async (name) => {
    await mkdir(join(directory, 'mounts', name), { recursive: true });
    return join(directory, 'mounts', name);
  };
  await assert.rejects(runApp(spec(['true'], [photos]), ports), {
    message: /but nothing is mounted there/u,
  });
  assert.deepEqual(await readdir(join(directory, 'apps')), []);
});

test('a running app gets a mount that its driver has made again', { skip }, async (t) => {
  const { directory, ports, stopping, steps, logged, volume, spec } = await testCell(t);
  const photos = await volume('photos');
  await volume('other');
  await ports.volman.scan();
  const script = 'while sleep 0.05; do echo > "$1/beat"; done';
  const running = runApp(spec(['sh', '-c', script, 'sh', photos.containerDir], [photos]), ports);
  await until('the app', async () => existsSync(join(directory, 'shares/photos/beat')));
  const target = join(directory, 'mounts/photos_app-1');
  await run('umount', ['--lazy', target]);
  await run('mount', ['-t', 'tmpfs', 'tmpfs', target]);
  await run('chmod', ['777', target]);
  await until('the app on the new mount', async () => existsSync(join(target, 'beat')));
  await until('the log', async () =>
    /again; in the app: bound over the previous mount/u.test(logged.join('\n')),
  );
  stopping.abort();
  assert.equal(await running, 143, logged.join('\n'));
  assert.ok(steps.includes(`again ${photos.containerDir}`), steps.join());
});

test('an app that ignores SIGTERM is killed, and its volumes are unmounted', { skip }, async (t) => {
  const { directory, driver, ports, stopping, volume, spec } = await testCell(t);
  const photos = await volume('photos');
  await ports.volman.scan();
  const script =
    'trap "" TERM; setsid sh -c \'trap "" TERM; while sleep 0.1; do :; done\' & echo > "$1/up"; while :; do sleep 0.1; done';
  const deadlines = { ...ports.deadlines, grace: 0.2 };
  const running = runApp(spec(['sh', '-c', script, 'sh', photos.containerDir], [photos]), {
    ...ports,
    deadlines,
  });
  await until('the app', async () => existsSync(join(directory, 'shares/photos/up')));
  stopping.abort();
  assert.equal(await running, 137);
  assert.equal(driver.volumes.size, 0);
});

test('a second app on the same directory keeps its volume when the first ends', { skip }, async (t) => {
  const { directory, ports, volume, spec } = await testCell(t);
  const photos = await volume('photos');
  await ports.volman.scan();
  const script = 'echo > "$1/up-$2"; until [ -e "$1/end-$2" ]; do sleep 0.02; done; touch "$1/ended-$2"';
  const app = async (number: string): Promise<number> =>
    runApp(
      {
        ...spec(['sh', '-c', script, 'sh', photos.containerDir, number], [photos]),
        container: `app-${number}` as ReturnType<typeof spec>['container'],
      },
      ports,
    );
  const apps = [app('1'), app('2')] as const;
  const share = join(directory, 'shares/photos');
  await until('both', async () => [1, 2].every((number) => existsSync(join(share, `up-${number}`))));
  await writeFile(join(share, 'end-1'), '');
  assert.equal(await apps[0], 0);
  await writeFile(join(share, 'end-2'), '');
  assert.equal(await apps[1], 0);
  assert.ok(existsSync(join(share, 'ended-2')));
  assert.deepEqual(await readdir(join(directory, 'apps')), []);
});

test('an app has its own root, and its volumes below it', { skip }, async (t) => {
  const { directory, ports, volume, spec } = await testCell(t);
  const root = join(directory, 'apps/root');
  for (const name of ['usr', 'proc']) await mkdir(join(root, name), { recursive: true });
  for (const name of ['bin', 'lib', 'lib64']) await symlink(`usr/${name}`, join(root, name));
  await run('mount', ['--bind', '/usr', join(root, 'usr')]);
  const photos = await volume('photos', { containerDir: '/data/photos' });
  await ports.volman.scan();
  const script = '{ ls -d /*; id -u; ls -d /proc/[0-9]* | wc -l; } > /data/photos/said';
  assert.equal(await runApp({ ...spec(['sh', '-c', script], [photos]), root }, ports), 0);
  const content = await readFile(join(directory, 'shares/photos/said'), 'utf8');
  assert.match(content, /^\/bin\n\/data\n\/lib\n\/lib64\n\/proc\n\/usr\n2000\n[2-9]\n$/u);
  assert.equal(existsSync(join(root, 'data')), false);
});

test('an unknown driver is refused before anything is recorded', { skip }, async (t) => {
  const { directory, ports, volume, spec } = await testCell(t);
  const [photos, other] = [await volume('photos'), await volume('other', { driver: 'smbdriver' })];
  await ports.volman.scan();
  await assert.rejects(runApp(spec(['true'], [photos, other]), ports), { code: 'DRIVER_NOT_FOUND' });
  const evil = { ...photos, volumeId: '../../evil' };
  await assert.rejects(runApp(spec(['true'], [photos, evil]), ports), { code: 'VOLUME_MOUNT_INVALID' });
  assert.deepEqual(await readdir(join(directory, 'state')), []);
});

test('a directory behind a link is refused before anything is mounted', { skip }, async (t) => {
  const { directory, driver, ports, volume, spec } = await testCell(t);
  await mkdir(join(directory, 'elsewhere'));
  await symlink(join(directory, 'elsewhere'), join(directory, 'apps/link'));
  const photos = await volume('photos', { containerDir: join(directory, 'apps/link/data') });
  await ports.volman.scan();
  await assert.rejects(runApp(spec(['true'], [photos]), ports), {
    code: 'VOLUME_MOUNT_INVALID',
    message: /'link'/u,
  });
  assert.deepEqual(await readdir(join(directory, 'elsewhere')), []);
  assert.equal(driver.volumes.size, 0);
});
