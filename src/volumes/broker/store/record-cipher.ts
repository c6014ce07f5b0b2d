import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ProductError } from '../../../errors/product-error.ts';
import type { BindingRecord, BindingTarget, InstanceRecord } from './broker-store.ts';

const algorithm = 'aes-256-gcm';
const keyIdBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;

interface NamedKey {
  readonly id: Buffer;
  readonly key: Buffer;
}

/**
 * Converts records to the encrypted bytes in a database and back. Encrypts with the first of the 32-byte keys
 * and decrypts with any; to rotate, put the new key first. It uses AES-256-GCM with a random nonce for each
 * record. The ids of a record are its associated data, so that records cannot be swapped. Reading throws
 * STORE_UNAVAILABLE if no key matches, and throws if the bytes were not written for the same ids.
 */
export class RecordCipher {
  readonly #first: NamedKey;
  readonly #keys: readonly NamedKey[];

  constructor([first, ...others]: readonly [Buffer, ...Buffer[]]) {
    this.#first = namedKey(first);
    this.#keys = [this.#first, ...others.map(namedKey)];
  }

  writeInstance(record: InstanceRecord): Uint8Array {
    return this.#encrypt(JSON.stringify(record), instanceKey(record.id));
  }

  readInstance(bytes: Uint8Array, instanceId: string): InstanceRecord {
    return JSON.parse(this.#decrypt(bytes, instanceKey(instanceId))) as InstanceRecord;
  }

  writeBinding(record: BindingRecord): Uint8Array {
    const { instanceId, id: bindingId } = record;
    return this.#encrypt(JSON.stringify(record), bindingKey({ instanceId, bindingId }));
  }

  readBinding(bytes: Uint8Array, target: BindingTarget): BindingRecord {
    return JSON.parse(this.#decrypt(bytes, bindingKey(target))) as BindingRecord;
  }

  #encrypt(text: string, associatedData: string): Uint8Array {
    const { id, key } = this.#first;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(associatedData));
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return Buffer.concat([id, nonce, cipher.getAuthTag(), body]);
  }

  #decrypt(encrypted: Uint8Array, associatedData: string): string {
    const bytes = Buffer.from(encrypted);
    const named = this.#keys.find(({ id }) => id.equals(bytes.subarray(0, keyIdBytes)));
    if (named === undefined)
      throw new ProductError(
        'STORE_UNAVAILABLE',
        `no key of the configuration decrypts ${associatedData}; add the key that encrypted it as the last one of encryption_keys`,
      );
    const tagAt = keyIdBytes + nonceBytes;
    const bodyAt = tagAt + tagBytes;
    const nonce = bytes.subarray(keyIdBytes, tagAt);
    const decipher = createDecipheriv(algorithm, named.key, nonce, { authTagLength: tagBytes });
    decipher.setAAD(Buffer.from(associatedData)).setAuthTag(bytes.subarray(tagAt, bodyAt));
    return Buffer.concat([decipher.update(bytes.subarray(bodyAt)), decipher.final()]).toString('utf8');
  }
}

const namedKey = (key: Buffer): NamedKey => ({
  id: createHash('sha256').update(key).digest().subarray(0, keyIdBytes),
  key,
});

const instanceKey = (id: string): string => `instances/${id}`;
const bindingKey = ({ instanceId, bindingId }: BindingTarget): string =>
  `${instanceKey(instanceId)}/bindings/${bindingId}`;
