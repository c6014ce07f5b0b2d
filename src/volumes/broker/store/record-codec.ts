import type { BindingTarget } from './broker-store.ts';
import type { BindingRecord, InstanceRecord } from './record.ts';
import type { Seal } from './seal.ts';

/**
 * Records as the bytes that a database keeps. What `read` gets is what `write` made: the seal refuses
 * anything else.
 */
export interface RecordCodec {
  writeInstance(record: InstanceRecord): Uint8Array;
  readInstance(bytes: Uint8Array, instanceId: string): InstanceRecord;
  writeBinding(record: BindingRecord): Uint8Array;
  readBinding(bytes: Uint8Array, target: BindingTarget): BindingRecord;
}

/** Records as JSON under a seal that binds them to their ids. */
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
