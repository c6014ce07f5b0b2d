import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import type { PathSegment } from '../../platform/path-segment.ts';
import { readRecords, writeRecord } from './container-record.ts';
import { repair } from './let-go.ts';
import { runApp } from './run-app.ts';
import { notRoot, testCell } from './testing/test-cell.ts';

const skip = notRoot;

// the first folder in which root looks for `setpriv`, before the app's user is set
test('a share with programs is not bound where root takes its own from', { skip }, async (t) => {
  const { folder, driver, ports, volume, order } = await testCell(t);
  const share = await volume('tools', { containerDir: '/usr/local/sbin' });
  const program = '#!/bin/sh\nid -u > /usr/local/sbin/ran-as\n';
  await writeFile(join(folder, 'shares/tools/setpriv'), program, { mode: 0o755 });
  await ports.volman.scan();
  const ofNode = dirname(process.execPath);
  const folders = ['/usr/local/sbin', '/usr', '/etc/ld.so.conf.d', '/lib', ofNode, dirname(ofNode)];
  for (const containerDir of folders)
    await assert.rejects(runApp(order(['true'], [{ ...share, containerDir }]), ports), {
      code: 'VOLUME_MOUNT_INVALID',
      message: /--root/u,
    });
  assert.equal(existsSync(join(folder, 'shares/tools/ran-as')), false);
  assert.equal(driver.volumes.size, 0);
  // below a root of its own an app may have a volume anywhere
  const root = join(folder, 'root');
  await mkdir(root);
  assert.equal(await runApp({ ...order(['none'], [share]), root }, ports), 127);
});

test('an app that moves a folder of its container away stops no repair', { skip }, async (t) => {
  const { folder, ports } = await testCell(t);
  const [own, machine] = [join(folder, 'apps/own'), join(folder, 'machine')];
  await mkdir(own);
  await mkdir(join(machine, 'photos'), { recursive: true });
  const folders = [join(own, 'data'), join(own, 'data/photos')];
  const container = 'app-1' as PathSegment;
  writeRecord(ports.state, { container, volumes: [], targets: folders.slice(1), folders });
  await symlink(machine, join(own, 'data'));
  assert.deepEqual(await repair(ports), []);
  assert.deepEqual(await readRecords(ports.state), []);
  assert.deepEqual(await readdir(machine), ['photos']);
});
