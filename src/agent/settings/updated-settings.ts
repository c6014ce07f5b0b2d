import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Field } from '../../platform/field.ts';
import { isObject, parseJsonObject, type JsonObject } from '../../platform/json.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';
import {
  parseCertificate,
  parseFirstBlobstore,
  type BlobstoreSettings,
  type BusCertificate,
} from './settings.ts';

/** What an update_settings changed. If a part is absent, that of create_vm's settings stays in effect. */
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

  /** Reads the file. Throws AGENT_SETTINGS_INVALID, without its content in the message, if it is not JSON. */
  static async read(directories: Directories): Promise<UpdatedSettings> {
    const path = join(directories.bosh, 'update_settings.json');
    const text = await readFileIfPresent(path);
    const source = text === undefined ? {} : parseJsonObject(text);
    if (source !== undefined) return new UpdatedSettings(path, source);
    throw new ProductError('AGENT_SETTINGS_INVALID', `${path} is not a JSON object: recreate the VM`);
  }

  /** The last update; undefined before the first one. */
  get current(): SettingsUpdate | undefined {
    const taskId = this.#source['task_id'];
    return typeof taskId === 'string' ? parseUpdate(this.#source, taskId) : undefined;
  }

  /**
   * Returns the file's content after an update with the arguments of the action. Parts that the director did
   * not send stay as the previous update set them. Throws the field's error if a part cannot be used.
   */
  merge(change: Field, taskId: string): JsonObject {
    const blobstores = checkedBlobstores(change.get('blobstores'));
    const mbus = checkedBus(change.get('mbus'));
    return {
      ...this.#source,
      trusted_certs: change.get('trusted_certs').optional()?.string() ?? '',
      ...(mbus !== undefined && { mbus }),
      ...(blobstores !== undefined && { blobstores }),
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

/**
 * Returns the bus of an update; undefined if it has no certificate. Half of a certificate, or a key of
 * another one, would leave a VM that cannot reach its director after a restart.
 */
function checkedBus(mbus: Field): JsonObject | undefined {
  const cert = mbus.get('cert');
  if (Object.keys(cert.record()).length === 0) return undefined;
  const ca = cert.get('ca');
  ca.stringThat(isCertificate, 'must be a certificate in PEM form');
  const certificate = cert.get('certificate').stringThat(isCertificate, 'must be a certificate in PEM form');
  cert
    .get('private_key')
    .stringThat((key) => belongsTo(key, certificate), 'must be the key of the certificate, in PEM form');
  return mbus.record();
}

function checkedBlobstores(blobstores: Field): readonly unknown[] | undefined {
  const list = blobstores.list();
  for (const blobstore of list) {
    blobstore.get('provider').nonEmptyString();
    blobstore.get('options').record();
  }
  return list.length === 0 ? undefined : list.map(({ value }) => value);
}

/** Returns true for one certificate, and for a text that begins with one. */
function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).serialNumber !== '';
  } catch {
    return false;
  }
}

function belongsTo(key: string, certificate: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}
