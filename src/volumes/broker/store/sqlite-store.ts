import { chmodSync, closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ProductError } from '../../../errors/product-error.ts';
import type { BindingView, BrokerStore, InstanceView, RecordKey, StoreUpdate } from './broker-store.ts';
import type { BrokerResponse } from '../response.ts';
import type { RecordCipher } from './record-cipher.ts';

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
 * A store in one SQLite file (mode 0600, with -wal and -shm files beside it), which is created if it does not
 * exist. A change is one transaction, which is on the disk when its response is returned (WAL, synchronous
 * FULL). Several processes of one machine may share the file.
 */
export class SqliteStore implements BrokerStore {
  readonly #database: DatabaseSync;
  readonly #records: RecordCipher;
  readonly #statements: ReturnType<typeof prepareStatements>;

  constructor(path: string, records: RecordCipher) {
    // SQLite gives the -wal and -shm files the mode of this one
    closeSync(openSync(path, 'a', 0o600));
    chmodSync(path, 0o600);
    this.#database = new DatabaseSync(path, { timeout: busyTimeoutMs });
    this.#database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
    this.#database.exec(schema);
    this.#statements = prepareStatements(this.#database);
    this.#records = records;
  }

  async read(target: RecordKey): Promise<BindingView> {
    return inTransaction(this.#database, 'DEFERRED', () => this.#readView(target));
  }

  async change(target: RecordKey, decide: (view: BindingView) => StoreUpdate): Promise<BrokerResponse> {
    return inTransaction(this.#database, 'IMMEDIATE', () =>
      this.#write(target, decide(this.#readView(target))),
    );
  }

  async updateInstance(
    instanceId: string,
    decide: (view: InstanceView) => StoreUpdate,
  ): Promise<BrokerResponse> {
    return inTransaction(this.#database, 'IMMEDIATE', () => {
      const { instance } = this.#readView({ instanceId });
      const bindingIds = this.#statements.bindingIds.all(instanceId).map(({ id }) => String(id));
      return this.#write({ instanceId }, decide({ instance, bindingIds }));
    });
  }

  async ping(): Promise<void> {
    // reads a record, if there is one, because encryption keys may be missing
    const row = inTransaction(this.#database, 'DEFERRED', () => this.#statements.anyInstance.get());
    if (row !== undefined) this.#records.readInstance(bytesOf(row), String(row['id']));
  }

  async close(): Promise<void> {
    this.#database.close();
  }

  #readView({ instanceId, bindingId }: RecordKey): BindingView {
    const instance = this.#statements.instance.get(instanceId);
    const binding = bindingId === undefined ? undefined : this.#statements.binding.get(instanceId, bindingId);
    return {
      instance: instance && this.#records.readInstance(bytesOf(instance), instanceId),
      binding:
        binding && bindingId !== undefined
          ? this.#records.readBinding(bytesOf(binding), { instanceId, bindingId })
          : undefined,
    };
  }

  #write({ instanceId, bindingId = '' }: RecordKey, change: StoreUpdate): BrokerResponse {
    const { deleteBinding, deleteInstance, putInstance, putBinding } = this.#statements;
    const { instance, binding, answer } = change;
    if (binding === null) deleteBinding.run(instanceId, bindingId);
    if (instance === null) deleteInstance.run(instanceId);
    if (instance) putInstance.run(this.#records.writeInstance(instance), instanceId);
    if (binding) putBinding.run(this.#records.writeBinding(binding), instanceId, bindingId);
    return answer;
  }
}

const prepareStatements = (database: DatabaseSync) => ({
  instance: database.prepare('SELECT record FROM instances WHERE id = ?'),
  anyInstance: database.prepare('SELECT id, record FROM instances LIMIT 1'),
  binding: database.prepare('SELECT record FROM bindings WHERE instance_id = ? AND id = ?'),
  bindingIds: database.prepare('SELECT id FROM bindings WHERE instance_id = ? ORDER BY id'),
  putInstance: database.prepare('INSERT OR REPLACE INTO instances (record, id) VALUES (?, ?)'),
  putBinding: database.prepare('INSERT OR REPLACE INTO bindings (record, instance_id, id) VALUES (?, ?, ?)'),
  deleteInstance: database.prepare('DELETE FROM instances WHERE id = ?'),
  deleteBinding: database.prepare('DELETE FROM bindings WHERE instance_id = ? AND id = ?'),
});

const bytesOf = (row: Record<string, unknown>): Uint8Array => row['record'] as Uint8Array;

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
    const message = `the SQLite file of the broker cannot be read or written: ${error.message}; check the file and its disk`;
    throw new ProductError('STORE_UNAVAILABLE', message, { cause: error });
  }
}
