import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { directoriesOf } from '../directories.ts';
import { errorMessage } from '../file/error-code.ts';
import { parseSettings } from '../settings/settings.ts';
import { DiskHints } from './disk-hints.ts';
import type { Mount } from './mount-table.ts';
import { PersistentDisks } from './persistent-disks.ts';

const run = promisify(execFile);
const namespace = ['--user', '--map-root-user', '--mount', '--propagation', 'private'];

for (const [what, file] of [
  ['mounts, finds again and unmounts disks', 'mount-scenario.ts'],
  ['migrates a disk to another', 'migration-scenario.ts'],
] as const)
  test(`${what} with the kernel`, async (t) => {
    try {
      await run('unshare', [...namespace, 'mount', '-t', 'tmpfs', 'none', '/mnt']);
    } catch (error) {
      t.skip(`needs a user and mount namespace: ${errorMessage(error)}`);
      return;
    }
    const scenario = join(import.meta.dirname, '..', 'testing', file);
    const { stdout } = await run('unshare', [...namespace, process.execPath, scenario]);
    assert.equal(stdout, 'every step passed\n');
  });

test('stores hints in the format of upstream, and also reads those of the settings', async (t) => {
  const base = await mkdtemp(join(tmpdir(), 'agent-'));
  t.after(() => rm(base, { recursive: true }));
  const directories = directoriesOf(base);
  await mkdir(directories.bosh);
  const settings = parseSettings(
    JSON.stringify({
      agent_id: 'a',
      mbus: 'https://u:p@127.0.0.1:1',
      disks: { persistent: { old: '/dev/old' } },
      env: { persistent_disk_fs: 'xfs' },
    }),
    'test',
  );
  const hints = new DiskHints(directories, settings);
  await hints.add('disk-1', { path: '/warden-cpi-dev/disks/disk-1/store' });
  await hints.add('disk-1', { path: '/warden-cpi-dev/disks/disk-1/store' });
  await assert.rejects(hints.add('disk-2', { volume_id: '3' }), /disk 'disk-2' must have an absolute path/);
  assert.deepEqual(
    [...(await hints.paths())],
    [
      ['old', '/dev/old'],
      ['disk-1', '/warden-cpi-dev/disks/disk-1/store'],
    ],
  );
  const file = await readFile(join(directories.bosh, 'persistent_disk_hints.json'), 'utf8');
  assert.deepEqual(JSON.parse(file), {
    'disk-1': {
      ID: 'disk-1',
      DeviceID: '',
      VolumeID: '',
      Lun: '',
      HostDeviceID: '',
      Path: '/warden-cpi-dev/disks/disk-1/store',
      ISCSISettings: { InitiatorName: '', Username: '', Target: '', Password: '' },
      FileSystemType: 'xfs',
      MountOptions: null,
      Partitioner: '',
    },
  });
  await hints.remove('disk-1');
  await hints.remove('disk-1');
  assert.deepEqual([...(await hints.paths()).keys()], ['old']);
});

/** Returns its paths, but calls `meanwhile` first at the second call. */
class SlowHints extends DiskHints {
  meanwhile: () => void = () => {};
  #callCount = 0;

  override async paths(): Promise<ReadonlyMap<string, string>> {
    const paths = await super.paths();
    if ((this.#callCount += 1) === 2) this.meanwhile();
    return paths;
  }
}

test('lists a disk whose mount appears while its hint is looked up', async (t) => {
  const base = await realpath(await mkdtemp(join(tmpdir(), 'agent-')));
  t.after(() => rm(base, { recursive: true }));
  const directories = directoriesOf(base);
  const hint = join(base, 'hub', 'disk-1');
  await mkdir(directories.bosh);
  await mkdir(hint, { recursive: true });
  const mount = (mountPoint: string, device: string): Mount => ({
    ...{ mountPoint, device, root: '/', isReadOnly: false },
  });
  let mounted = [mount('/', '1:1'), mount(directories.store, '9:9')];
  const settings = parseSettings(JSON.stringify({ agent_id: 'a', mbus: 'https://u:p@127.0.0.1:1' }), 'test');
  const hints = new SlowHints(directories, settings);
  await hints.add('disk-1', hint);
  hints.meanwhile = () => (mounted = [...mounted, mount(hint, '9:9')]);
  const never = (): never => assert.fail('only asked');
  const disks = new PersistentDisks({
    ...{ directories, hints, copy: never, table: { openHandlesBelow: never } as never, log: {} as never },
    mounts: { list: async () => mounted, bind: never, unmount: never, setReadOnly: never },
  });

  assert.deepEqual(await disks.list(), ['disk-1']);
});
