import { mkdir, readdir, rename } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { ProductError } from '../../../errors/product-error.ts';
import { mountsOfPlace, placeOf, readAllMountTables, readMountTable } from '../mounts/mount-table.ts';
import type { NodeLayout } from '../layout.ts';
import { safeRemove } from '../removal/safe-remove.ts';
import type { VolumeProvisioner } from '../volume-provisioner.ts';

/** Persistent volumes as directories of the node. */
export class PersistentVolumes implements VolumeProvisioner {
  readonly #layout: NodeLayout;

  constructor(layout: NodeLayout) {
    this.#layout = layout;
  }

  async provision(volumeName: string): Promise<string> {
    const path = this.#path(volumeName);
    await mkdir(path, { recursive: true });
    return path;
  }

  async remove(volumeName: string): Promise<void> {
    const path = this.#path(volumeName);
    if (!(await readdir(this.#layout.volumes)).includes(volumeName)) {
      return;
    }
    const place = placeOf(await readMountTable(), path);
    for (const { pid, mounts } of await readAllMountTables()) {
      const used = mountsOfPlace(mounts, place)[0];
      if (used !== undefined) {
        throw new ProductError(
          'VOLUME_BUSY',
          `volume ${volumeName} is kept: process ${pid} has it mounted at ${used.target}. Detach it first.`,
        );
      }
    }
    await mkdir(this.#layout.volumeTrash, { recursive: true });
    const trash = join(this.#layout.volumeTrash, `${volumeName}-${randomUUID()}`);
    await rename(path, trash);
    await safeRemove(trash);
  }

  /** Ends removals that a crash cut short; to be called before any pod runs. */
  async emptyTrash(): Promise<void> {
    await safeRemove(this.#layout.volumeTrash);
  }

  #path(volumeName: string): string {
    if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(volumeName)) {
      throw new ProductError(
        'INVALID_ARGUMENT',
        `${JSON.stringify(volumeName)} cannot be the name of a volume`,
      );
    }
    return join(this.#layout.volumes, volumeName);
  }
}
