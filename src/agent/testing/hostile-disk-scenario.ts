import assert from 'node:assert/strict';
import { lstat, mkdir, mkdtemp, readFile, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { directoriesOf } from '../directories.ts';
import { copyDirectory } from '../disk/copy-directory.ts';
import { DiskHints } from '../disk/disk-hints.ts';
import { mountAt, type MountTable, systemMountTable } from '../disk/mount-table.ts';
import { PersistentDisks } from '../disk/persistent-disks.ts';
import { procProcessTable as table } from '../process/process-table.ts';
import { parseSettings } from '../settings/settings.ts';

// Runs in its own mount namespace (hostile-disk.attack.test.ts): all mounts here are real mounts of the
// kernel.
const base = await mkdtemp(join(tmpdir(), 'agent disks-'));
const directories = directoriesOf(base);
const { store, storeMigrationTarget } = directories;
const kernel = systemMountTable([store, storeMigrationTarget]);
const settings = parseSettings('{"agent_id":"a","mbus":"https://u:p@127.0.0.1:1"}', 'test');
const log = { info: (): void => undefined, error: (): void => undefined };
const disksWith = (mounts: MountTable): PersistentDisks =>
  new PersistentDisks({
    ...{ directories, hints: new DiskHints(directories, settings), mounts, table, copy: copyDirectory, log },
  });
const disks = disksWith(kernel);
const isMounted = async (path: string): Promise<boolean> => mountAt(await kernel.list(), path) !== undefined;

const outside = join(base, 'jobs');
await mkdir(directories.bosh, { recursive: true });
await mkdir(outside);
await writeFile(join(outside, 'ctl'), 'of root');
for (const cid of ['disk-link', 'disk-file', 'disk-good', 'disk-raced']) {
  await mkdir(join(base, 'volumes', cid), { recursive: true });
  await mkdir(join(base, 'hub', cid), { recursive: true });
  await kernel.bind(join(base, 'volumes', cid), join(base, 'hub', cid));
  await disks.add(cid, join(base, 'hub', cid, 'store'));
}
await symlink(outside, join(base, 'volumes/disk-link/store'));
await writeFile(join(base, 'volumes/disk-file/store'), '');
await mkdir(join(base, 'volumes/disk-good/store'));
await mkdir(join(base, 'volumes/disk-raced/store'));

// A link that the previous VM left is rejected on the store, after a restart, and on store_migration_target.
await assert.rejects(disks.mount('disk-link'), /disk 'disk-link' is refused: its 'store' is a symbolic link/);
await assert.rejects(disks.mount('disk-file'), /disk 'disk-file' is refused: its 'store' is no folder/);
const note = join(directories.bosh, 'managed_disk_settings.json');
await assert.rejects(readFile(note), /ENOENT/);
await writeFile(note, 'disk-link');
assert.match((await disks.restore()) ?? '', /disk 'disk-link' is refused/);
assert.deepEqual(await disks.list(), []);
await rm(note);
assert.equal(await isMounted(store), false);
await disks.mount('disk-good');
await assert.rejects(disks.mount('disk-link'), /disk 'disk-link' is refused/);
assert.equal(await isMounted(storeMigrationTarget), false);

// A writer that creates the link between the agent's check and the mount.
const directory = join(base, 'volumes/disk-raced/store');
const raced = disksWith({
  ...kernel,
  async bind(source, target) {
    await rename(directory, `${directory}.aside`);
    await symlink(outside, directory);
    await kernel.bind(source, target);
  },
});
await assert.rejects(raced.mount('disk-raced'), /is not visible there/);
assert.equal(await isMounted(storeMigrationTarget), false);
await rm(directory);
await rename(`${directory}.aside`, directory);

// A migration to a disk that has links at the paths of files and directories of the old one.
await mkdir(join(store, 'folder'));
await writeFile(join(store, 'folder/ctl'), 'data');
await writeFile(join(store, 'file'), 'data');
await symlink(outside, join(directory, 'folder'));
await symlink(join(outside, 'ctl'), join(directory, 'file'));
await disks.mount('disk-raced');
await disks.migrate();
assert.deepEqual(await disks.list(), ['disk-raced']);
assert.equal(await readFile(join(store, 'folder/ctl'), 'utf8'), 'data');
assert.ok((await lstat(join(store, 'file'))).isFile());
assert.deepEqual(await readdir(outside), ['ctl']);
assert.equal(await readFile(join(outside, 'ctl'), 'utf8'), 'of root');

await kernel.unmount(store);
for (const cid of await readdir(join(base, 'hub'))) await kernel.unmount(join(base, 'hub', cid));
await rm(base, { recursive: true });
process.stdout.write('every step passed\n');
