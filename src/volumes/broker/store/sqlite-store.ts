import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ProductError } from '../../../errors/product-error.ts';
import type { BindingView, BrokerStore, InstanceView, RecordKey, StoreUpdate } from './broker-store.ts';
import type { RecordCodec } from './record-cipher.ts';

const schema = `
  CREATE TABLE IF NOT EXISTS instances (id TEXT PRIMARY KEY, record BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS bindings (
    instance_id TEXT NOT NULL REFERENCES instances (id),
    id TEXT NOT NULL,
    record BLOB NOT NULL,
    PRIMARY KEY (instance_id, id)
  ) STRICT;
`;
/** Milliseconds that a write waits for the write of another process. */
const busyTimeoutMs = 10_000;

/**
 * Opens a store in one SQLite file (mode 0600, with -wal and -shm files beside it), and creates it if it does
 * not exist. A change is one transaction, which is on the disk when its response is returned (WAL,
 * synchronous FULL). Several processes of one machine may share the file.
 */
export function openSqliteStore(path: string, records: RecordCodec): BrokerStore {
  // SQLite gives the -wal and -shm files the mode of this one
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  const database = new DatabaseSync(path, { timeout: busyTimeoutMs });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
  database.exec(schema);
  const instance = database.prepare('SELECT record FROM instances WHERE id = ?');
  const anyInstance = database.prepare('SELECT id, record FROM instances LIMIT 1');
  const binding = database.prepare('SELECT record FROM bindings WHERE instance_id = ? AND id = ?');
  const bindingIds = database.prepare('SELECT id FROM bindings WHERE instance_id = ? ORDER BY id');
  const putInstance = database.prepare('INSERT OR REPLACE INTO instances (record, id) VALUES (?, ?)');
  const putBinding = database.prepare(
    'INSERT OR REPLACE INTO bindings (record, instance_id, id) VALUES (?, ?, ?)',
  );
  const deleteInstance = database.prepare('DELETE FROM instances WHERE id = ?');
  const deleteBinding = database.prepare('DELETE FROM bindings WHERE instance_id = ? AND id = ?');

  function look({ instanceId, bindingId }: RecordKey): BindingView {
    const instanceRow = instance.get(instanceId);
    const bindingRow = bindingId === undefined ? undefined : binding.get(instanceId, bindingId);
    return {
      instance: instanceRow && records.readInstance(toBuffer(instanceRow), instanceId),
      binding:
        bindingRow && bindingId !== undefined
          ? records.readBinding(toBuffer(bindingRow), { instanceId, bindingId })
          : undefined,
    };
  }
  function lookAtInstance(instanceId: string): InstanceView {
    const ids = bindingIds.all(instanceId).map(({ id }) => String(id));
    return { instance: look({ instanceId }).instance, bindingIds: ids };
  }
  function write({ instanceId, bindingId = '' }: RecordKey, change: StoreUpdate): void {
    if (change.binding === null) deleteBinding.run(instanceId, bindingId);
    if (change.instance === null) deleteInstance.run(instanceId);
    if (change.instance) putInstance.run(records.writeInstance(change.instance), instanceId);
    if (change.binding) putBinding.run(records.writeBinding(change.binding), instanceId, bindingId);
  }

  return {
    read: async (target) => inTransaction(database, 'DEFERRED', () => look(target)),
    change: async (target, decide) =>
      inTransaction(database, 'IMMEDIATE', () => {
        const change = decide(look(target));
        write(target, change);
        return change.answer;
      }),
    updateInstance: async (instanceId, decide) =>
      inTransaction(database, 'IMMEDIATE', () => {
        const change = decide(lookAtInstance(instanceId));
        write({ instanceId }, change);
        return change.answer;
      }),
    ping: async () => {
      // reads a record, if there is one, because encryption keys may be missing
      const row = inTransaction(database, 'DEFERRED', () => anyInstance.get());
      if (row !== undefined) records.readInstance(toBuffer(row), String(row['id']));
    },
    close: async () => {
      database.close();
    },
  };
}

const toBuffer = (row: Record<string, unknown>): Uint8Array => row['record'] as Uint8Array;

function inTransaction<T>(database: DatabaseSync, kind: 'DEFERRED' | 'IMMEDIATE', work: () => T): T {
  try {
    database.exec(`BEGIN ${kind}`);
    try {
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec('ROLLBACK');
      throw error;
    }
  } catch (error) {
    if (!(error instanceof Error && 'errcode' in error)) throw error;
    const message = `the SQLite file of the broker cannot be read or written: ${error.message}; look after the file and its disk`;
    throw new ProductError('STORE_UNAVAILABLE', message, { cause: error });
  }
}
