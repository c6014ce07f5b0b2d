import type { BindingTarget } from './broker-store.ts';
import type { BindingRecord, InstanceRecord } from './record.ts';
import type { Seal } from './seal.ts';

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
