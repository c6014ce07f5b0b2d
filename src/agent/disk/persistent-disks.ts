import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile, resolveDirectory } from '../file/files.ts';
import type { Log } from '../log.ts';
import type { ProcessTable } from '../process/process-table.ts';
import { resolveDiskDirectory, type DiskHints } from './disk-hints.ts';
import { isSameMountRoot, mountAt, locateOnFilesystem, type Mount, type MountTable } from './mount-table.ts';

export interface PersistentDisksOptions {
  readonly directories: Directories;
  readonly hints: DiskHints;
  readonly mounts: MountTable;
  readonly table: ProcessTable;
  /** Copies the content of a directory into another. Resolves when the copy is on the disk. */
  readonly copy: (source: string, target: string) => Promise<void>;
  readonly log: Log;
}

/**
 * The persistent disks of the VM. A disk's hint is a directory inside its volume. So if the path does not
 * exist, the volume is not attached; that is an error, and the agent never creates the path. Only the disk on
 * /var/vcap/store is recorded, by its bare cid in bosh/managed_disk_settings.json (bosh-agent:
 * platform/linux_platform.go). A disk on store_migration_target is not recorded, so that a restart never
 * shows the new, still empty disk to the jobs.
 */
export class PersistentDisks {
  readonly #options: PersistentDisksOptions;
  readonly #managedPath: string;

  constructor(options: PersistentDisksOptions) {
    this.#options = options;
    this.#managedPath = join(options.directories.bosh, 'managed_disk_settings.json');
  }

  /** Records the hint of a disk that the CPI attached. */
  async add(cid: string, hint: unknown): Promise<void> {
    await this.#options.hints.add(cid, hint);
  }

  /** Removes the record of a disk. Throws DISK_BUSY if the disk is mounted. */
  async remove(cid: string): Promise<void> {
    if ((await this.list()).includes(cid)) {
      throw new ProductError('DISK_BUSY', `disk '${cid}' is still mounted: unmount it before it is removed`);
    }
    await this.#options.hints.remove(cid);
  }

  /**
   * Mounts a disk on /var/vcap/store, or on store_migration_target while another disk is on the store.
   * Idempotent.
   */
  async mount(cid: string): Promise<void> {
    const { directories, mounts, log } = this.#options;
    const path = await this.#resolvePath(cid);
    const table = await mounts.list();
    const volume = locateOnFilesystem(table, path);
    const store = mountAt(table, directories.store);
    const isStore = store === undefined || isSameMountRoot(volume, store);
    const target = isStore ? directories.store : directories.storeMigrationTarget;
    const present = mountAt(table, target);
    if (present === undefined) await this.#bind(path, target);
    else if (!isSameMountRoot(volume, present)) {
      throw new ProductError(
        'AGENT_DISK_FAILED',
        `disk '${cid}' cannot be mounted: another disk is mounted on ${target}`,
      );
    }
    if (isStore) await writeDurableFile(this.#managedPath, cid);
    log.info(`disk ${cid}: mounted on ${target}`);
  }

  /** Unmounts a disk from all places where the agent mounted it. Returns upstream's message. Idempotent. */
  async unmount(cid: string): Promise<string> {
    const targets = await this.#findMountPoints(cid);
    for (const target of targets) await this.#unmountTarget(cid, target);
    if ((await this.#managed()) === cid) await rm(this.#managedPath, { force: true });
    if (targets.length === 0) return `Partition of disk ${cid} is not mounted`;
    this.#options.log.info(`disk ${cid}: unmounted`);
    return `Unmounted partition of disk ${cid}`;
  }

  /**
   * Copies the disk on the store to the one on store_migration_target, and then mounts that one on the store
   * instead (bosh-agent: MigratePersistentDisk). The store is read-only during the copy. The write of
   * managed_disk_settings.json commits the migration, after the copy is on the disk: if the agent dies before
   * it, the store is the old, complete disk; if it dies later, a restart mounts the new one. Throws
   * DISK_BUSY, with the old disk still on the store, if something uses the store.
   */
  async migrate(): Promise<void> {
    const { directories, copy, mounts, log } = this.#options;
    const { store, storeMigrationTarget } = directories;
    const [from, to] = [await this.#cidAt(store), await this.#cidAt(storeMigrationTarget)];
    await this.#setReadOnly(from, true);
    try {
      await copy(store, storeMigrationTarget);
      await this.#unmountTarget(from, store);
    } catch (error) {
      await this.#setReadOnly(from, false);
      throw error;
    }
    await writeDurableFile(this.#managedPath, to);
    // The result does not matter: a process that still uses this mount sees the same disk.
    await mounts.unmount(storeMigrationTarget);
    await this.#bind(await this.#resolvePath(to), store);
    log.info(`disk ${from}: migrated to disk ${to}`);
  }

  /** Returns the cids of the disks that are mounted. */
  async list(): Promise<readonly string[]> {
    const mounted: string[] = [];
    for (const cid of (await this.#options.hints.paths()).keys()) {
      if ((await this.#findMountPoints(cid)).length > 0) mounted.push(cid);
    }
    return mounted;
  }

  /**
   * Mounts the disk that was on the store there again after a restart. Returns the reason as long as that is
   * not possible, because no job may start on an empty store. Removes the record of a disk that has no hint
   * any more.
   */
  async restore(): Promise<string | undefined> {
    const cid = await this.#managed();
    if (cid === undefined) return undefined;
    if (!(await this.#options.hints.paths()).has(cid)) {
      this.#options.log.info(`disk ${cid}: no longer attached, forgetting that it was mounted`);
      await rm(this.#managedPath, { force: true });
      return undefined;
    }
    try {
      const { store, storeMigrationTarget } = this.#options.directories;
      const targets = await this.#findMountPoints(cid);
      // A migration that was killed leaves the previous disk read-only, and the new one still mounted on
      // store_migration_target.
      if (targets.includes(store)) await this.#setReadOnly(cid, false);
      else await this.mount(cid);
      if (targets.includes(storeMigrationTarget)) await this.#unmountTarget(cid, storeMigrationTarget);
      return undefined;
    } catch (error) {
      if (error instanceof ProductError) return error.message;
      throw error;
    }
  }

  async #managed(): Promise<string | undefined> {
    return (await readFileIfPresent(this.#managedPath))?.trim() || undefined;
  }

  async #cidAt(target: string): Promise<string> {
    for (const cid of (await this.#options.hints.paths()).keys()) {
      if ((await this.#findMountPoints(cid)).includes(target)) return cid;
    }
    throw new ProductError('AGENT_DISK_FAILED', `no disk is mounted on ${target}: mount both disks first`);
  }

  async #setReadOnly(cid: string, isReadOnly: boolean): Promise<void> {
    const { store } = this.#options.directories;
    if (mountAt(await this.#options.mounts.list(), store)?.isReadOnly === isReadOnly) return;
    if ((await this.#options.mounts.setReadOnly(store, isReadOnly)) === 'busy')
      throw await this.#busy(cid, store);
  }

  async #resolvePath(cid: string): Promise<string> {
    const path = (await this.#options.hints.paths()).get(cid);
    if (path === undefined) {
      throw new ProductError(
        'AGENT_DISK_FAILED',
        `Persistent disk with volume id '${cid}' could not be found`,
      );
    }
    const directory = await resolveDiskDirectory(path);
    if (directory.kind === 'folder') return directory.path;
    if (directory.kind === 'other') {
      throw new ProductError(
        'AGENT_DISK_FAILED',
        `disk '${cid}' is refused: its '${basename(path)}' is ${directory.found}, which could lead to any file of this VM; check what wrote to the disk`,
      );
    }
    throw new ProductError(
      'AGENT_DISK_FAILED',
      `disk '${cid}' is not attached: its path ${path} does not exist; attach it again`,
    );
  }

  /** Returns the agent's mount points that show this disk now. */
  async #findMountPoints(cid: string): Promise<readonly string[]> {
    const { directories, hints, mounts } = this.#options;
    const hint = (await hints.paths()).get(cid);
    const directory = hint === undefined ? undefined : await resolveDiskDirectory(hint);
    const path = directory?.kind === 'folder' ? directory.path : undefined;
    // Read the table after the path exists: only then does it have the mount that leads to the path.
    const table = await mounts.list();
    const volume = path === undefined ? undefined : locateOnFilesystem(table, path);
    const isManaged = (await this.#managed()) === cid;
    const shows = (target: string, mount: Mount | undefined): boolean => {
      if (mount === undefined) return false;
      // If the disk is no longer attached, only the record shows which disk is mounted on the store.
      return volume === undefined
        ? isManaged && target === directories.store
        : isSameMountRoot(volume, mount);
    };
    return [directories.store, directories.storeMigrationTarget].filter((target) =>
      shows(target, mountAt(table, target)),
    );
  }

  async #bind(path: string, target: string): Promise<void> {
    await this.#options.mounts.bind(path, target);
    const table = await this.#options.mounts.list();
    if (isSameMountRoot(locateOnFilesystem(table, path), mountAt(table, target))) return;
    // A link that was created after the check may have led the mount elsewhere. The mount table shows what
    // the kernel mounted.
    if (mountAt(table, target) !== undefined) await this.#options.mounts.unmount(target);
    throw new ProductError('AGENT_DISK_FAILED', `${path} was mounted on ${target}, but is not visible there`);
  }

  async #unmountTarget(cid: string, target: string): Promise<void> {
    if ((await this.#options.mounts.unmount(target)) === 'busy') throw await this.#busy(cid, target);
  }

  async #busy(cid: string, target: string): Promise<ProductError> {
    const openHandles = await this.#options.table.openHandlesBelow(
      (await resolveDirectory(target)) ?? target,
    );
    const who = openHandles.length === 0 ? 'a process that is not visible here' : openHandles.join('; ');
    return new ProductError(
      'DISK_BUSY',
      `disk '${cid}' is in use on ${target} by ${who}: stop it and try again`,
    );
  }
}
