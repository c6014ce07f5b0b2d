import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';
import {
  parseCertificate,
  parseFirstBlobstore,
  type BlobstoreSettings,
  type BusCertificate,
} from './settings.ts';

/** What an update_settings changed. An absent part leaves what create_vm's settings say. */
export interface SettingsUpdate {
  /** The id of the task that made the update, so that `get_task` answers after a restart, too. */
  readonly taskId: string;
  /** PEM certificates that the whole VM trusts; an empty text for none. */
  readonly trustedCerts: string;
  readonly certificate: BusCertificate | undefined;
  readonly blobstore: BlobstoreSettings | undefined;
}

/**
 * The last update_settings of the director, in bosh/update_settings.json (mode 0600, because it has a key).
 * Its parts win over the settings of create_vm (bosh-agent: settings/settings.go, UpdateSettings).
 */
export class UpdatedSettings {
  readonly #path: string;
  #source: JsonObject;

  private constructor(path: string, source: JsonObject) {
    this.#path = path;
    this.#source = source;
  }

  /** Reads the file. Throws AGENT_SETTINGS_INVALID if it is not JSON. */
  static async read(directories: Directories): Promise<UpdatedSettings> {
    const path = join(directories.bosh, 'update_settings.json');
    const text = await readFileIfPresent(path);
    if (text === undefined) return new UpdatedSettings(path, {});
    const source: unknown = JSON.parse(text);
    if (isObject(source)) return new UpdatedSettings(path, source);
    throw new ProductError('AGENT_SETTINGS_INVALID', `${path} is not a JSON object: recreate the VM`);
  }

  /** The last update; undefined before the first one. */
  get current(): SettingsUpdate | undefined {
    const taskId = this.#source['task_id'];
    return typeof taskId === 'string' ? parseUpdate(this.#source, taskId) : undefined;
  }

  /**
   * Returns the file's content after an update with the arguments of the action. Parts that the director did
   * not send stay as the previous update set them.
   */
  merge(change: JsonObject, taskId: string): JsonObject {
    const mbus = isObject(change['mbus']) ? { mbus: change['mbus'] } : {};
    const list = change['blobstores'];
    const blobstores = Array.isArray(list) && list.length > 0 ? { blobstores: list } : {};
    return {
      ...this.#source,
      trusted_certs: change['trusted_certs'] ?? '',
      ...mbus,
      ...blobstores,
      task_id: taskId,
    };
  }

  /** Writes the content that {@link merge} returned. From then on it is in effect, also after a kill. */
  async write(source: JsonObject): Promise<void> {
    await writeDurableFile(this.#path, JSON.stringify(source));
    this.#source = source;
  }
}

/** Parses the content of the file. */
export function parseUpdate(source: JsonObject, taskId: string): SettingsUpdate {
  const { mbus, trusted_certs: trustedCerts, blobstores } = source;
  const cert = isObject(mbus) ? mbus['cert'] : undefined;
  return {
    taskId,
    trustedCerts: typeof trustedCerts === 'string' ? trustedCerts : '',
    certificate: isObject(cert) ? parseCertificate(cert) : undefined,
    blobstore: parseFirstBlobstore(blobstores),
  };
}
