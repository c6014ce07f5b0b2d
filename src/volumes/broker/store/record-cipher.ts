import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ProductError } from '../../../errors/product-error.ts';
import type { BindingRecord, BindingTarget, InstanceRecord } from './broker-store.ts';

/** Encrypts and decrypts records on a disk. */
interface Seal {
  /**
   * Encrypts. `associatedData` is the key of the record. Decryption fails for any other key, so records
   * cannot be swapped.
   */
  close(text: string, associatedData: string): Uint8Array;
  /**
   * Decrypts. Throws STORE_UNAVAILABLE if no key matches. Throws if the bytes were not made by `close` for
   * that place.
   */
  open(sealed: Uint8Array, place: string): string;
}

const noMatchingKeyError = (place: string): ProductError =>
  new ProductError(
    'STORE_UNAVAILABLE',
    `no key of the configuration opens ${place}; put the key that it was written under last in encryption_keys`,
  );

const algorithm = 'aes-256-gcm';
const keyIdBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;

/**
 * Returns a cipher with 32-byte keys. Encrypts with the first key, decrypts with any; to rotate, put the new
 * key first. It uses AES-256-GCM with a random nonce for each record.
 */
export function createRecordCipher(keys: readonly [Buffer, ...Buffer[]]): Seal {
  const named = keys.map((key) => ({
    id: createHash('sha256').update(key).digest().subarray(0, keyIdBytes),
    key,
  }));
  const [first = { id: Buffer.alloc(0), key: keys[0] }] = named;
  return {
    close: (text, place) => {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv(algorithm, first.key, nonce).setAAD(Buffer.from(place));
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([first.id, nonce, cipher.getAuthTag(), body]);
    },
    open: (sealed, place) => {
      const bytes = Buffer.from(sealed);
      const id = bytes.subarray(0, keyIdBytes);
      const found = named.find((candidate) => candidate.id.equals(id));
      if (found === undefined) throw noMatchingKeyError(place);
      const nonce = bytes.subarray(keyIdBytes, keyIdBytes + nonceBytes);
      const bodyAt = keyIdBytes + nonceBytes + tagBytes;
      const decipher = createDecipheriv(algorithm, found.key, nonce, { authTagLength: tagBytes });
      decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(keyIdBytes + nonceBytes, bodyAt));
      return Buffer.concat([decipher.update(bytes.subarray(bodyAt)), decipher.final()]).toString('utf8');
    },
  };
}

/**
 * Converts records to the bytes in a database and back. `read` gets only bytes of `write`: the cipher rejects
 * any others.
 */
export interface RecordCodec {
  writeInstance(record: InstanceRecord): Uint8Array;
  readInstance(bytes: Uint8Array, instanceId: string): InstanceRecord;
  writeBinding(record: BindingRecord): Uint8Array;
  readBinding(bytes: Uint8Array, target: BindingTarget): BindingRecord;
}

/** Returns a codec for records as encrypted JSON. The encryption binds each record to its ids. */
export function encryptedCodec(seal: Seal): RecordCodec {
  return {
    writeInstance: (record) => seal.close(JSON.stringify(record), instanceKey(record.id)),
    readInstance: (bytes, id) => JSON.parse(seal.open(bytes, instanceKey(id))) as InstanceRecord,
    writeBinding: (record) => {
      const target = { instanceId: record.instanceId, bindingId: record.id };
      return seal.close(JSON.stringify(record), bindingKey(target));
    },
    readBinding: (bytes, target) => JSON.parse(seal.open(bytes, bindingKey(target))) as BindingRecord,
  };
}

const instanceKey = (id: string): string => `instances/${id}`;
const bindingKey = ({ instanceId, bindingId }: BindingTarget): string =>
  `${instanceKey(instanceId)}/bindings/${bindingId}`;
