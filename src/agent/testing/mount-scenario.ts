import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isProductError } from '../../errors/product-error.ts';
import { directoriesOf } from '../directories.ts';
import { copyDirectory } from '../disk/copy-directory.ts';
import { DiskHints } from '../disk/disk-hints.ts';
import { mountAt, systemMountTable } from '../disk/mount-table.ts';
import { PersistentDisks } from '../disk/persistent-disks.ts';
import { procProcessTable as table } from '../process/process-table.ts';
import { parseSettings } from '../settings/settings.ts';

// Runs in its own mount namespace (persistent-disks.test.ts): all mounts here are real mounts of the kernel.
const base = await mkdtemp(join(tmpdir(), 'agent mounts-'));
const directories = directoriesOf(base);
const mounts = systemMountTable([directories.store, directories.storeMigrationTarget]);
const volume = join(base, 'volume');
const entry = join(base, 'hub', 'disk-1');
const other = join(base, 'hub', 'disk-2');
const settings = parseSettings('{"agent_id":"a","mbus":"https://u:p@127.0.0.1:1"}', 'test');
const log = { info: (): void => undefined, error: (): void => undefined };
const newDisks = (): PersistentDisks =>
  new PersistentDisks({
    directories,
    hints: new DiskHints(directories, settings),
    mounts,
    table,
    copy: copyDirectory,
    log,
  });
const isMounted = async (path: string): Promise<boolean> => mountAt(await mounts.list(), path) !== undefined;

for (const path of [directories.bosh, directories.data, join(volume, 'store'), entry, join(other, 'store')]) {
  await mkdir(path, { recursive: true });
}
const disks = newDisks();
await disks.add('disk-1', { path: join(entry, 'store') });
await disks.add('disk-2', join(other, 'store'));

await assert.rejects(disks.mount('disk-1'), /disk 'disk-1' is not attached/);
await assert.rejects(readFile(join(entry, 'store')), /ENOENT/);
await mounts.bind(volume, entry);
await disks.mount('disk-1');
await disks.mount('disk-1');
await writeFile(join(directories.store, 'kept'), 'data');
assert.equal(await readFile(join(volume, 'store', 'kept'), 'utf8'), 'data');
assert.deepEqual(await disks.list(), ['disk-1']);
assert.equal(await readFile(join(directories.bosh, 'managed_disk_settings.json'), 'utf8'), 'disk-1');
await assert.rejects(disks.remove('disk-1'), /still mounted/);

await disks.mount('disk-2');
assert.deepEqual(await disks.list(), ['disk-1', 'disk-2']);
assert.equal(await isMounted(directories.storeMigrationTarget), true);
assert.equal(await disks.unmount('disk-2'), 'Unmounted partition of disk disk-2');

const blockingProcess = spawn('sleep', ['100'], { cwd: directories.store, stdio: 'ignore' });
await once(blockingProcess, 'spawn');
await assert.rejects(
  disks.unmount('disk-1'),
  (error) =>
    isProductError(error, 'DISK_BUSY') && error.message.includes(`sleep (pid ${blockingProcess.pid}, cwd`),
);
assert.equal(await isMounted(directories.store), true);
blockingProcess.kill();
await once(blockingProcess, 'exit');

// The disk is detached, but the agent's mount still shows it.
assert.equal(await mounts.unmount(entry), 'unmounted');
assert.deepEqual(await disks.list(), ['disk-1']);
assert.equal(await newDisks().restore(), undefined);
assert.equal(await mounts.unmount(directories.store), 'unmounted');
assert.match((await newDisks().restore()) ?? '', /not attached/);
await mounts.bind(volume, entry);
assert.equal(await newDisks().restore(), undefined);
assert.equal(await readFile(join(directories.store, 'kept'), 'utf8'), 'data');

assert.equal(await disks.unmount('disk-1'), 'Unmounted partition of disk disk-1');
assert.equal(await disks.unmount('disk-1'), 'Partition of disk disk-1 is not mounted');
assert.equal(await newDisks().restore(), undefined);
assert.equal(await isMounted(directories.store), false);
await disks.remove('disk-1');
await assert.rejects(disks.mount('disk-1'), /could not be found/);
await mounts.unmount(entry);
await rm(base, { recursive: true });
process.stdout.write('every step passed\n');
