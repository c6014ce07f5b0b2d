import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { PathSegment } from '../../platform/path-segment.ts';
import { cleanUpOrphans, readRecords, writeRecord } from './containers.ts';
import type { VolumeMount } from '../options/volume-mount.ts';
import { until } from '../../../test/support/until.ts';
import { runApp } from './run-app.ts';
import { notRoot, run, testCell } from './testing/test-cell.ts';

const skip = notRoot;

// the first directory in which root searches for `setpriv`, before the app's user is set
test(
  'a share with programs is not bound over a directory from which root runs programs',
  { skip },
  async (t) => {
    const { directory, driver, ports, volume, spec } = await testCell(t);
    const share = await volume('tools', { containerDir: '/usr/local/sbin' });
    const program = '#!/bin/sh\nid -u > /usr/local/sbin/ran-as\n';
    await writeFile(join(directory, 'shares/tools/setpriv'), program, { mode: 0o755 });
    await ports.volman.scan();
    const ofNode = dirname(process.execPath);
    const directories = ['/usr/local/sbin', '/usr', '/etc/ld.so.conf.d', '/lib', ofNode, dirname(ofNode)];
    for (const containerDir of directories)
      await assert.rejects(runApp(spec(['true'], [{ ...share, containerDir }]), ports), {
        code: 'VOLUME_MOUNT_INVALID',
        message: /--root/u,
      });
    assert.equal(existsSync(join(directory, 'shares/tools/ran-as')), false);
    assert.equal(driver.volumes.size, 0);
    // below its own root an app may have a volume anywhere
    const root = join(directory, 'root');
    await mkdir(root);
    assert.equal(await runApp({ ...spec(['none'], [share]), root }, ports), 127);
  },
);

// every user may pass through the directory of a driver, and mountinfo shows the names
test('an app cannot reach a volume of another app by its path', { skip }, async (t) => {
  const { directory, ports, volume, spec } = await testCell(t);
  await chmod(join(directory, 'mounts'), 0o711);
  const [photos, early, late] = [await volume('photos'), await volume('early'), await volume('late')];
  await ports.volman.scan();
  const share = (name: string, file: string): string => join(directory, 'shares', name, file);
  const other = async (of: VolumeMount): Promise<number> => {
    const script = 'echo secret > "$1/secret"; until [ -e "$1/end" ]; do sleep 0.05; done';
    const container = `of-${of.volumeId}` as PathSegment;
    return runApp({ ...spec(['sh', '-c', script, 'sh', of.containerDir], [of]), container }, ports);
  };
  const first = other(early);
  await until('the first app', async () => existsSync(share('early', 'secret')));
  const script = `for name in early late; do
    until [ -e "$1/try-$name" ]; do sleep 0.05; done
    other="$2/$name"_of-"$name"
    { cat "$2"/*/secret "$other/secret"; echo > "$other/written"; ls "$2"; } > "$1/said-$name" 2>&1
    touch "$1/tried-$name"
  done`;
  const command = ['sh', '-c', script, 'sh', photos.containerDir, join(directory, 'mounts')];
  const hostile = runApp(spec(command, [photos]), ports);
  await until('the hostile app', async () => existsSync(join(directory, 'mounts/photos_app-1')));
  const second = until('the try', async () => existsSync(share('photos', 'tried-early'))).then(() =>
    other(late),
  );
  await writeFile(share('photos', 'try-early'), '');
  await until('the second app', async () => existsSync(share('late', 'secret')));
  await writeFile(share('photos', 'try-late'), '');
  await hostile;
  for (const name of ['early', 'late']) {
    assert.equal(existsSync(share(name, 'written')), false, name);
    assert.doesNotMatch(await readFile(share('photos', `said-${name}`), 'utf8'), /^secret/mu);
    await writeFile(share(name, 'end'), '');
  }
  assert.deepEqual(await Promise.all([first, second]), [0, 0]);
});

test(
  'an app sees no volume that a driver mounts later in a directory that is a mount',
  { skip },
  async (t) => {
    const { directory, ports, driver, volume, spec } = await testCell(t);
    const [own, other] = [join(directory, 'mounts/nfs'), join(directory, 'mounts/smb')];
    for (const each of [own, other]) await mkdir(each, { recursive: true });
    await chmod(join(directory, 'mounts'), 0o711);
    await run('mount', ['-t', 'tmpfs', '-o', 'mode=0711', 'tmpfs', other]);
    await run('mount', ['--make-shared', other]);
    const photos = await volume('photos');
    driver.mount = async (name) => {
      const target = join(own, name);
      await mkdir(target);
      await run('mount', ['--bind', join(directory, 'shares/photos'), target]);
      return target;
    };
    driver.unmount = async (name) => void (await run('umount', ['--lazy', join(own, name)]));
    await ports.volman.scan();
    const script = `touch "$1/begun"; until [ -e "$1/try" ]; do sleep 0.05; done; cat "$2/later/secret" > "$1/said" 2>&1; true`;
    const command = ['sh', '-c', script, 'sh', photos.containerDir, other];
    const hostile = runApp(spec(command, [photos]), ports);
    const shared = (file: string): string => join(directory, 'shares/photos', file);
    await until('the app', async () => existsSync(shared('begun')));
    await mkdir(join(other, 'later'));
    await run('mount', ['-t', 'tmpfs', 'tmpfs', join(other, 'later')]);
    await writeFile(join(other, 'later/secret'), 'secret');
    await writeFile(shared('try'), '');
    assert.equal(await hostile, 0);
    assert.match(await readFile(shared('said'), 'utf8'), /No such file/u);
  },
);

test('an app that moves a directory of its container away does not stop a repair', { skip }, async (t) => {
  const { directory, ports } = await testCell(t);
  const [own, machine] = [join(directory, 'apps/own'), join(directory, 'machine')];
  await mkdir(own);
  await mkdir(join(machine, 'photos'), { recursive: true });
  const directories = [join(own, 'data'), join(own, 'data/photos')];
  const container = 'app-1' as PathSegment;
  writeRecord(ports.state, { container, volumes: [], targets: directories.slice(1), folders: directories });
  await symlink(machine, join(own, 'data'));
  assert.deepEqual(await cleanUpOrphans(ports), []);
  assert.deepEqual(await readRecords(ports.state), []);
  assert.deepEqual(await readdir(machine), ['photos']);
});
