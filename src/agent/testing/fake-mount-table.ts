import { mkdir } from 'node:fs/promises';
import { isSameMountRoot, mountAt, locateOnFilesystem } from '../disk/mount-table.ts';
import type { Mount, MountTable } from '../disk/mount-table.ts';

/** Mounts that are only recorded. Each directory from `addVolume` is a file system of its own. */
export class FakeMountTable implements MountTable {
  readonly #mounts: Mount[] = [{ device: '0:1', root: '/', mountPoint: '/', isReadOnly: false }];
  #devices = 1;

  addVolume(path: string): void {
    this.#devices++;
    this.#mounts.push({ device: `0:${this.#devices}`, root: '/', mountPoint: path, isReadOnly: false });
  }

  removeVolume(path: string): void {
    this.#remove(path);
  }

  async list(): Promise<readonly Mount[]> {
    return [...this.#mounts];
  }

  async bind(source: string, target: string): Promise<void> {
    const volume = locateOnFilesystem(this.#mounts, source);
    if (volume === undefined || isSameMountRoot(volume, mountAt(this.#mounts, target))) {
      throw new Error(`a second mount of ${source} on ${target}`);
    }
    await mkdir(target, { recursive: true });
    this.#mounts.push({ ...volume, mountPoint: target, isReadOnly: false });
  }

  async unmount(target: string): Promise<'unmounted'> {
    this.#remove(target);
    return 'unmounted';
  }

  async setReadOnly(target: string, isReadOnly: boolean): Promise<'done'> {
    const index = this.#mounts.findLastIndex(({ mountPoint }) => mountPoint === target);
    const mount = this.#mounts[index];
    if (mount === undefined) throw new Error(`${target} is not mounted`);
    this.#mounts[index] = { ...mount, isReadOnly };
    return 'done';
  }

  #remove(path: string): void {
    const index = this.#mounts.findLastIndex((mount) => mount.mountPoint === path);
    if (index < 0) throw new Error(`${path} is not mounted`);
    this.#mounts.splice(index, 1);
  }
}
