import { chmod, mkdir, open, readdir, rename } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { ProductError } from '../../../src/errors/product-error.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { readMountTable } from '../../../src/platform/mountinfo.ts';
import { mountsOfSource, sourceOf, readAllMountTables } from '../mounts.ts';
import type { NodeLayout } from '../node-paths.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import { isKnownParameter, type VolumeProvisioner, type VolumeSource } from '../volume-provisioner.ts';
import { copyVolume } from './copy-volume.ts';

/** Persistent volumes and their snapshots as directories of the node. */
export class PersistentVolumes implements VolumeProvisioner {
  readonly #layout: NodeLayout;
  readonly #clock: Clock;

  constructor(layout: NodeLayout, clock: Clock) {
    this.#layout = layout;
    this.#clock = clock;
  }

  async provision(volumeName: string, source?: VolumeSource): Promise<string> {
    const path = this.#path(volumeName);
    if (source === undefined) {
      await mkdir(path, { recursive: true });
    } else {
      await this.#copy(
        'volume' in source ? this.#path(source.volume) : this.#snapshot(source.snapshot),
        path,
      );
    }
    return path;
  }

  async takeSnapshot(handle: string, volumeName: string): Promise<void> {
    await mkdir(this.#layout.volumeSnapshots, { recursive: true });
    await this.#copy(this.#path(volumeName), this.#snapshot(handle));
  }

  async removeSnapshot(handle: string): Promise<void> {
    await this.#moveToTrash(this.#snapshot(handle));
  }

  async modify(volumeName: string, parameters: Readonly<Record<string, string>>): Promise<void> {
    const unknown = Object.entries(parameters).find(([name, value]) => !isKnownParameter(name, value));
    if (unknown !== undefined) {
      throw new ProductError('INVALID_ARGUMENT', `a volume has no parameter ${unknown.join('=')}`);
    }
    const { permissions } = parameters;
    if (permissions !== undefined) {
      await chmod(this.#path(volumeName), Number.parseInt(permissions, 8));
    }
  }

  async remove(volumeName: string): Promise<void> {
    const path = this.#path(volumeName);
    if (!(await isThere(path))) {
      return;
    }
    const source = sourceOf(await readMountTable(), path);
    for (const { pid, mounts } of await readAllMountTables()) {
      const used = mountsOfSource(mounts, source)[0];
      if (used !== undefined) {
        throw new ProductError(
          'VOLUME_BUSY',
          `volume ${volumeName} is kept: process ${pid} has it mounted at ${used.target}. Detach it first.`,
        );
      }
    }
    await this.#moveToTrash(path);
  }

  /** Finishes removals and deletes copies that a crash interrupted. Must be called before any pod runs. */
  async emptyTrash(): Promise<void> {
    await safeRemove(this.#layout.volumeTrash);
  }

  /**
   * Copies a directory so that the copy appears at once and whole: it is made and synced beside its final
   * path.
   */
  async #copy(from: string, to: string): Promise<void> {
    if (await isThere(to)) {
      return;
    }
    const temporary = await this.#trash();
    await copyVolume(from, temporary, this.#clock);
    await rename(temporary, to);
    await syncDirectory(dirname(to));
  }

  async #moveToTrash(path: string): Promise<void> {
    if (await isThere(path)) {
      const trash = await this.#trash();
      await rename(path, trash);
      await safeRemove(trash);
    }
  }

  async #trash(): Promise<string> {
    await mkdir(this.#layout.volumeTrash, { recursive: true });
    return join(this.#layout.volumeTrash, randomUUID());
  }

  #snapshot(handle: string): string {
    return join(this.#layout.volumeSnapshots, checkName(handle));
  }

  #path(volumeName: string): string {
    return join(this.#layout.volumes, checkName(volumeName));
  }
}

function checkName(name: string): string {
  if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) {
    throw new ProductError('INVALID_ARGUMENT', `${JSON.stringify(name)} cannot be the name of a volume`);
  }
  return name;
}

async function isThere(path: string): Promise<boolean> {
  try {
    return (await readdir(dirname(path))).includes(basename(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
}

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
