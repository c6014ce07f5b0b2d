import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  link,
  mkdir,
  mkdtemp,
  open,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
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
const base = await mkdtemp(join(tmpdir(), 'agent migration-'));
const directories = directoriesOf(base);
const { store, storeMigrationTarget } = directories;
const mounts = systemMountTable([store, storeMigrationTarget]);
const hub = join(base, 'hub');
const settings = parseSettings('{"agent_id":"a","mbus":"https://u:p@127.0.0.1:1"}', 'test');
const log = { info: (): void => undefined, error: (): void => undefined };
const newDisks = (copy = copyDirectory): PersistentDisks =>
  new PersistentDisks({ directories, hints: new DiskHints(directories, settings), mounts, table, copy, log });
const noted = (): Promise<string> => readFile(join(directories.bosh, 'managed_disk_settings.json'), 'utf8');
const isReadOnly = async (): Promise<boolean | undefined> => mountAt(await mounts.list(), store)?.isReadOnly;

await mkdir(directories.bosh, { recursive: true });
for (const cid of ['disk-old', 'disk-new']) {
  await mkdir(join(base, 'volumes', cid, 'store'), { recursive: true });
  await mkdir(join(hub, cid), { recursive: true });
  await mounts.bind(join(base, 'volumes', cid), join(hub, cid));
}
const disks = newDisks();
for (const cid of ['disk-old', 'disk-new']) await disks.add(cid, join(hub, cid, 'store'));
await disks.mount('disk-old');
await assert.rejects(disks.migrate(), /no disk is mounted on .*store_migration_target/);
await disks.mount('disk-new');

const time = new Date('2001-02-03T04:05:06Z');
await mkdir(join(store, 'a folder'));
await writeFile(join(store, 'a folder', 'file'), 'data');
await chmod(join(store, 'a folder', 'file'), 0o640);
await link(join(store, 'a folder', 'file'), join(store, 'hard'));
await symlink('a folder/file', join(store, 'soft'));
await utimes(join(store, 'a folder', 'file'), time, time);
const sparse = await open(join(store, 'sparse'), 'w');
await sparse.truncate(64 * 1024 * 1024);
await sparse.close();

// In use by a writer, then by a working directory: the old disk stays on the store, writable.
const writer = await open(join(store, 'a folder', 'log'), 'w');
const busy = (error: unknown): boolean => isProductError(error, 'DISK_BUSY');
await assert.rejects(disks.migrate(), busy);
await writer.close();
const blockingProcess = spawn('sleep', ['100'], { cwd: store, stdio: 'ignore' });
await once(blockingProcess, 'spawn');
await assert.rejects(disks.migrate(), busy);
blockingProcess.kill();
await once(blockingProcess, 'exit');
assert.deepEqual([await noted(), await isReadOnly()], ['disk-old', false]);

// After a copy that fails, and after one that is killed, the old disk is on the store.
const failing = newDisks(() => Promise.reject(new Error('disk full')));
await assert.rejects(failing.migrate(), /disk full/);
assert.deepEqual([await noted(), await isReadOnly()], ['disk-old', false]);
await mounts.setReadOnly(store, true);
assert.equal(await newDisks().restore(), undefined);
assert.deepEqual([await noted(), await isReadOnly()], ['disk-old', false]);

await disks.migrate();
assert.equal(await noted(), 'disk-new');
assert.equal(mountAt(await mounts.list(), storeMigrationTarget), undefined);
assert.deepEqual(await disks.list(), ['disk-new']);
assert.equal(await readFile(join(store, 'a folder', 'file'), 'utf8'), 'data');
assert.equal(await readlink(join(store, 'soft')), 'a folder/file');
const copied = await stat(join(store, 'hard'));
assert.deepEqual([copied.mode & 0o777, copied.nlink, copied.mtime], [0o640, 2, time]);
const hole = await stat(join(store, 'sparse'));
assert.equal(hole.size, 64 * 1024 * 1024);
assert.ok(hole.blocks < 1000, `${hole.blocks} blocks`);
await writeFile(join(store, 'after'), 'written');
assert.equal(await readFile(join(base, 'volumes', 'disk-new', 'store', 'after'), 'utf8'), 'written');
assert.equal(await readFile(join(base, 'volumes', 'disk-old', 'store', 'a folder', 'file'), 'utf8'), 'data');
await disks.remove('disk-old');

// Killed after the new disk was recorded and before it was mounted.
await mounts.unmount(store);
assert.equal(await newDisks().restore(), undefined);
assert.equal(await readFile(join(store, 'after'), 'utf8'), 'written');
assert.equal(await disks.unmount('disk-new'), 'Unmounted partition of disk disk-new');
for (const cid of ['disk-old', 'disk-new']) await mounts.unmount(join(hub, cid));
await rm(base, { recursive: true });
process.stdout.write('every step passed\n');
