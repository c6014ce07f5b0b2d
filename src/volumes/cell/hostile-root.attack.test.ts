import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../test/support/until.ts';
import { runApp } from './run-app.ts';
import { notRoot, run, testCell } from './testing/test-cell.ts';

const skip = notRoot;
const app = 2000;

// the app owns its root, as it owns the directory of its droplet, and puts a link to the machine's /etc at
// the mount point of a volume
test(
  'a volume is not bound outside the root of its app, and no directory is made there',
  { skip },
  async (t) => {
    const { directory, driver, ports, volume, spec } = await testCell(t);
    const [root, machine] = [join(directory, 'root'), join(directory, 'machine')];
    await mkdir(join(root, 'var'), { recursive: true });
    await mkdir(machine);
    await symlink(machine, join(root, 'var/data'));
    await chown(join(root, 'var'), app, app);
    await ports.volman.scan();
    for (const containerDir of ['/var/data', '/var/data/photos']) {
      const photos = await volume('photos', { containerDir });
      await assert.rejects(runApp({ ...spec(['true'], [photos]), root }, ports), {
        code: 'VOLUME_MOUNT_INVALID',
      });
    }
    assert.deepEqual(await readdir(machine), []);
    assert.equal(driver.volumes.size, 0);
  },
);

test('a running app cannot redirect a mount that is made again', { skip }, async (t) => {
  const { directory, driver, ports, stopping, logged, volume, spec } = await testCell(t);
  const [own, machine] = [join(directory, 'apps/own'), join(directory, 'machine')];
  await mkdir(join(own, 'data/photos'), { recursive: true });
  await mkdir(join(machine, 'photos'), { recursive: true });
  await chown(own, app, app);
  const photos = await volume('photos', { containerDir: join(own, 'data/photos') });
  await ports.volman.scan();
  // replaces a parent directory, which the app owns and so may move, by a link
  const script =
    'echo > "$1/up"; cd "$2"; mv data moved && ln -s "$3" data; while sleep 0.05; do grep -q "$3" /proc/self/mountinfo && touch moved/photos/escaped; done';
  const command = ['sh', '-c', script, 'sh', photos.containerDir, own, machine];
  const running = runApp(spec(command, [photos]), ports);
  await until('the app', async () => existsSync(join(directory, 'shares/photos/up')));
  await until('the link', async () => existsSync(join(own, 'moved')));
  const target = join(directory, 'mounts/photos_app-1');
  await run('umount', ['--lazy', target]);
  await run('mount', ['-t', 'tmpfs', 'tmpfs', target]);
  await chmod(target, 0o777);
  await until('the refusal', async () => logged.some((line) => line.includes('again; in the app: ')));
  assert.match(logged.join('\n'), /'data' on the way to it is a link or a file/u);
  stopping.abort();
  await running;
  assert.equal(existsSync(join(directory, 'shares/photos/escaped')), false);
  assert.deepEqual(await readdir(machine), ['photos']);
  assert.equal(driver.volumes.size, 0);
});
