import { join, basename, dirname } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile, resolveDirectory } from '../file/files.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';
import type { Settings } from '../settings/settings.ts';
import { lstat } from 'node:fs/promises';
import { errorCode } from '../file/error-code.ts';

/**
 * The hints from add_persistent_disk, in bosh/persistent_disk_hints.json: upstream's DiskSettings by disk
 * cid, with the field names of its Go struct (bosh-agent: settings/settings.go, settings/service.go).
 */
export class DiskHints {
  readonly #path: string;
  readonly #settings: Settings;

  constructor(directories: Directories, settings: Settings) {
    this.#path = join(directories.bosh, 'persistent_disk_hints.json');
    this.#settings = settings;
  }

  /** Returns the path of every known disk by cid. An added hint overrides the one in the settings. */
  async paths(): Promise<ReadonlyMap<string, string>> {
    const paths = new Map<string, string>();
    for (const [cid, hint] of this.#settings.persistentDisks) paths.set(cid, pathOf(hint));
    for (const [cid, entry] of Object.entries(await this.#read())) {
      const path = isObject(entry) ? entry['Path'] : undefined;
      paths.set(cid, typeof path === 'string' ? path : '');
    }
    return paths;
  }

  /** Records a disk. Throws AGENT_ARGUMENT_INVALID if the hint has no absolute path. Idempotent. */
  async add(cid: string, hint: unknown): Promise<void> {
    const path = pathOf(hint);
    if (!path.startsWith('/')) {
      throw new ProductError(
        'AGENT_ARGUMENT_INVALID',
        `the hint of disk '${cid}' must have an absolute path`,
      );
    }
    await this.#write({ ...(await this.#read()), [cid]: diskSettings(cid, hint, this.#settings) });
  }

  /** Removes the record of a disk. Idempotent. */
  async remove(cid: string): Promise<void> {
    const hints = await this.#read();
    if (!(cid in hints)) return;
    await this.#write(Object.fromEntries(Object.entries(hints).filter(([other]) => other !== cid)));
  }

  async #read(): Promise<JsonObject> {
    const value: unknown = JSON.parse((await readFileIfPresent(this.#path)) ?? '{}');
    return isObject(value) ? value : {};
  }

  async #write(hints: JsonObject): Promise<void> {
    await writeDurableFile(this.#path, JSON.stringify(hints));
  }
}

function pathOf(hint: unknown): string {
  if (typeof hint === 'string') return hint;
  return text(hint, 'path');
}

function diskSettings(cid: string, hint: unknown, settings: Settings): JsonObject {
  const iscsi = isObject(hint) ? hint['iscsi_settings'] : undefined;
  return {
    ID: cid,
    DeviceID: text(hint, 'id'),
    VolumeID: typeof hint === 'string' ? hint : text(hint, 'volume_id'),
    Lun: text(hint, 'lun'),
    HostDeviceID: text(hint, 'host_device_id'),
    Path: pathOf(hint),
    ISCSISettings: {
      InitiatorName: text(iscsi, 'initiator_name'),
      Username: text(iscsi, 'username'),
      Target: text(iscsi, 'target'),
      Password: text(iscsi, 'password'),
    },
    FileSystemType: settings.persistentDiskFileSystem,
    MountOptions:
      settings.persistentDiskMountOptions.length === 0 ? null : settings.persistentDiskMountOptions,
    Partitioner: settings.persistentDiskPartitioner,
  };
}

function text(object: unknown, key: string): string {
  const value = isObject(object) ? object[key] : undefined;
  return typeof value === 'string' ? value : '';
}

/** The result of looking up the directory of a disk. */
export type DiskDirectory =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'missing' }
  /** A link, a file or anything else instead of the disk's directory. */
  | { readonly kind: 'other'; readonly found: string };

/**
 * Looks up the directory of a disk by its hint, `<root of the disk>/store`. The content of a disk is
 * untrusted, because root of another VM may have written it. So links are followed only up to the disk's
 * root.
 */
export async function resolveDiskDirectory(hint: string): Promise<DiskDirectory> {
  const root = await resolveDirectory(dirname(hint));
  if (root === undefined) return { kind: 'missing' };
  const path = join(root, basename(hint));
  try {
    const stats = await lstat(path);
    if (stats.isDirectory()) return { kind: 'folder', path };
    return { kind: 'other', found: stats.isSymbolicLink() ? 'a symbolic link' : 'no folder' };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { kind: 'missing' };
    throw error;
  }
}
