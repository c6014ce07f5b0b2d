import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ProductError } from '../../../errors/product-error.ts';
import type { BrokerStore, Target, View } from './broker-store.ts';
import type { BindingRecord, InstanceRecord } from './record.ts';
import type { Seal } from './seal.ts';

const schema = `
  CREATE TABLE IF NOT EXISTS instances (id TEXT PRIMARY KEY, record BLOB NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS bindings (
    id TEXT PRIMARY KEY,
    instance_id TEXT NOT NULL REFERENCES instances (id),
    record BLOB NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS bindings_of_instance ON bindings (instance_id, id);
`;
/** Milliseconds that one write waits for another process's. */
const busyMs = 10_000;

/**
 * Opens a store in one SQLite file (0600, with its -wal and -shm beside it), made where there is none. A change is one transaction
 * that is on the disk when it is answered (WAL, synchronous FULL). Several processes may share the file on one machine.
 */
export function openSqliteStore(path: string, seal: Seal): BrokerStore {
  // SQLite gives the files beside it the mode of this one
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
  const database = new DatabaseSync(path, { timeout: busyMs });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
  database.exec(schema);
  const statements = {
    instance: database.prepare('SELECT record FROM instances WHERE id = ?'),
    binding: database.prepare('SELECT record FROM bindings WHERE id = ?'),
    bindingIds: database.prepare('SELECT id FROM bindings WHERE instance_id = ? ORDER BY id'),
    writeInstance: database.prepare(
      'INSERT INTO instances (id, record) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record',
    ),
    writeBinding: database.prepare(
      'INSERT INTO bindings (id, instance_id, record) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET record = excluded.record',
    ),
    deleteInstance: database.prepare('DELETE FROM instances WHERE id = ?'),
    deleteBinding: database.prepare('DELETE FROM bindings WHERE id = ?'),
  };

  function read(row: Record<string, unknown> | undefined, place: string): unknown {
    return row === undefined ? undefined : JSON.parse(seal.open(row['record'] as Uint8Array, place));
  }
  /** What is read is what this store wrote: the seal says that nobody changed it. */
  function look({ instanceId, bindingId }: Target): View {
    const instance = read(statements.instance.get(instanceId), instancePlace(instanceId));
    const binding =
      bindingId === undefined ? undefined : read(statements.binding.get(bindingId), bindingPlace(bindingId));
    return {
      instance: instance as InstanceRecord | undefined,
      binding: binding as BindingRecord | undefined,
      bindingIds: statements.bindingIds.all(instanceId).map(({ id }) => String(id)),
    };
  }
  const close = (record: InstanceRecord | BindingRecord, place: string): Uint8Array =>
    seal.close(JSON.stringify(record), place);

  return {
    view: async (target) => inTransaction(database, 'DEFERRED', () => look(target)),
    change: async (target, decide) =>
      inTransaction(database, 'IMMEDIATE', () => {
        const { answer, instance, binding } = decide(look(target));
        if (instance === null) statements.deleteInstance.run(target.instanceId);
        else if (instance !== undefined)
          statements.writeInstance.run(instance.id, close(instance, instancePlace(instance.id)));
        if (binding === null) statements.deleteBinding.run(target.bindingId ?? '');
        else if (binding !== undefined) {
          const sealed = close(binding, bindingPlace(binding.id));
          statements.writeBinding.run(binding.id, binding.instanceId, sealed);
        }
        return answer;
      }),
    check: async () => void inTransaction(database, 'DEFERRED', () => statements.bindingIds.all('')),
    close: async () => {
      database.close();
    },
  };
}

const instancePlace = (id: string): string => `instances/${id}`;
const bindingPlace = (id: string): string => `bindings/${id}`;

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
