import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Directories, directoriesOf } from '../directories.ts';
import { copyDirectory } from '../disk/copy-directory.ts';
import { DiskHints } from '../disk/disk-hints.ts';
import { mountAt, type MountTable, systemMountTable } from '../disk/mount-table.ts';
import { PersistentDisks } from '../disk/persistent-disks.ts';
import { procProcessTable as table } from '../process/process-table.ts';
import { parseSettings } from '../settings/settings.ts';

// Runs in its own mount namespace (migration.crash.test.ts): all mounts here are real mounts of the kernel.
const settings = parseSettings('{"agent_id":"a","mbus":"https://u:p@127.0.0.1:1"}', 'test');
const log = { info: (): void => undefined, error: (): void => undefined };
const cids = ['disk-old', 'disk-new', 'disk-next'] as const;
const files = ['first', 'second'] as const;

/** The agent's ports at which a kill can happen. */
interface Ports {
  readonly mounts: MountTable;
  readonly copy: (source: string, target: string) => Promise<void>;
}

/** A VM with three disks: the first is on the store and has data, the second is on store_migration_target. */
class Vm {
  readonly base: string;
  readonly directories: Directories;
  readonly ports: Ports;

  private constructor(base: string) {
    this.base = base;
    this.directories = directoriesOf(base);
    const { store, storeMigrationTarget } = this.directories;
    this.ports = { mounts: systemMountTable([store, storeMigrationTarget]), copy: copyDirectory };
  }

  static async create(): Promise<Vm> {
    const vm = new Vm(await mkdtemp(join(tmpdir(), 'agent-')));
    await mkdir(vm.directories.bosh, { recursive: true });
    const disks = vm.agent();
    for (const cid of cids) {
      await mkdir(join(vm.volume(cid), 'store'), { recursive: true });
      await mkdir(vm.hub(cid), { recursive: true });
      await vm.ports.mounts.bind(vm.volume(cid), vm.hub(cid));
      if (cid !== 'disk-next') await disks.add(cid, join(vm.hub(cid), 'store'));
    }
    await disks.mount('disk-old');
    for (const name of files) await writeFile(join(vm.directories.store, name), name);
    await disks.mount('disk-new');
    return vm;
  }

  readonly volume = (cid: string): string => join(this.base, 'volumes', cid);
  readonly hub = (cid: string): string => join(this.base, 'hub', cid);

  /** Returns the disks of a new agent process. */
  agent(ports: Partial<Ports> = {}): PersistentDisks {
    const { directories } = this;
    const hints = new DiskHints(directories, settings);
    return new PersistentDisks({ directories, hints, table, log, ...this.ports, ...ports });
  }

  noted(): Promise<string> {
    return readFile(join(this.directories.bosh, 'managed_disk_settings.json'), 'utf8');
  }

  /** Ends the container: the agent's mounts end, those of the attachments stay. */
  async endContainer(): Promise<void> {
    const { store, storeMigrationTarget } = this.directories;
    for (const target of [store, storeMigrationTarget])
      while (mountAt(await this.ports.mounts.list(), target) !== undefined)
        assert.equal(await this.ports.mounts.unmount(target), 'unmounted');
  }

  async remove(): Promise<void> {
    await this.endContainer();
    for (const cid of cids) await this.ports.mounts.unmount(this.hub(cid));
    await rm(this.base, { recursive: true });
  }
}

type Call = 'setReadOnly' | 'copy' | 'unmount' | 'bind';

interface KillPoint {
  readonly call: Call;
  /** Which of the calls; the first is 1. */
  readonly nth: number;
  /** How much of the call was done before the kill. */
  readonly done: 'nothing' | 'half' | 'all';
  /** True if managed_disk_settings.json has the new disk. */
  readonly isNoted: boolean;
}

const points: readonly KillPoint[] = [
  { call: 'setReadOnly', nth: 1, done: 'all', isNoted: false },
  { call: 'copy', nth: 1, done: 'half', isNoted: false },
  { call: 'copy', nth: 1, done: 'all', isNoted: false },
  // The store is unmounted, and the new disk is not recorded yet.
  { call: 'unmount', nth: 1, done: 'all', isNoted: false },
  { call: 'unmount', nth: 2, done: 'nothing', isNoted: true },
  { call: 'unmount', nth: 2, done: 'all', isNoted: true },
  { call: 'bind', nth: 1, done: 'all', isNoted: true },
];

/** Migrates up to a point and stops there, as a process that is killed. */
async function migrateUntil(vm: Vm, { call, nth, done }: KillPoint): Promise<void> {
  const killed = Promise.withResolvers<void>();
  let calls = 0;
  const until = async <T>(name: Call, whole: () => Promise<T>, half?: () => Promise<void>): Promise<T> => {
    if (name !== call || (calls += 1) !== nth) return whole();
    if (done === 'all') await whole();
    if (done === 'half') await half?.();
    killed.resolve();
    return new Promise<never>(() => undefined);
  };
  const { mounts, copy } = vm.ports;
  const agent = vm.agent({
    copy: (source, target) =>
      until(
        'copy',
        () => copy(source, target),
        () => copyFile(join(source, files[0]), join(target, files[0])),
      ),
    mounts: {
      list: () => mounts.list(),
      bind: (source, target) => until('bind', () => mounts.bind(source, target)),
      unmount: (target) => until('unmount', () => mounts.unmount(target)),
      setReadOnly: (target, isReadOnly) => until('setReadOnly', () => mounts.setReadOnly(target, isReadOnly)),
    },
  });
  const ended = agent.migrate().then(() => assert.fail(`no ${call} of number ${nth}`));
  await Promise.race([ended, killed.promise]);
}

/** Asserts that the store has all of the data and is writable. */
async function assertWhole(directory: string, more: readonly string[] = []): Promise<void> {
  assert.deepEqual((await readdir(directory)).toSorted(), [...files, ...more].toSorted());
  for (const name of files) assert.equal(await readFile(join(directory, name), 'utf8'), name);
}

for (const point of points)
  for (const isContainerKilled of [false, true]) {
    const vm = await Vm.create();
    const { store, storeMigrationTarget } = vm.directories;
    await migrateUntil(vm, point);
    if (isContainerKilled) await vm.endContainer();

    const disks = vm.agent();
    assert.equal(await disks.restore(), undefined);

    const now = point.isNoted ? 'disk-new' : 'disk-old';
    assert.equal(await vm.noted(), now);
    await assertWhole(store);
    await assertWhole(join(vm.volume('disk-old'), 'store'));
    await writeFile(join(store, 'later'), '');
    await assertWhole(join(vm.volume(now), 'store'), ['later']);

    // Continues as a deployer or a director does: with another new disk.
    const other = point.isNoted ? 'disk-old' : 'disk-new';
    await disks.unmount(other);
    await disks.remove(other);
    await disks.add('disk-next', join(vm.hub('disk-next'), 'store'));
    await disks.mount('disk-next');
    await disks.migrate();
    assert.equal(await vm.noted(), 'disk-next');
    await assertWhole(join(vm.volume('disk-next'), 'store'), ['later']);
    assert.equal(mountAt(await vm.ports.mounts.list(), storeMigrationTarget), undefined);
    await vm.remove();
  }
process.stdout.write('every step passed\n');
