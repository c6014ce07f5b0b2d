import { type ClientBase, DatabaseError, Pool } from 'pg';
import { isProductError, ProductError } from '../../../errors/product-error.ts';
import type { BindingView, BrokerStore, InstanceView, RecordKey, StoreUpdate } from './broker-store.ts';
import type { BrokerResponse } from '../response.ts';
import type { RecordCipher } from './record-cipher.ts';

/** The connection settings of a database. */
export interface PostgresAccess {
  /** A name, an address, or the directory of a unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password?: string | undefined;
  /** The CA of the server's certificate in PEM; the system's CAs if absent. A unix socket has no TLS. */
  readonly ca?: string | undefined;
}

const schema = `
  CREATE TABLE IF NOT EXISTS instances (id TEXT PRIMARY KEY, record BYTEA NOT NULL);
  CREATE TABLE IF NOT EXISTS bindings (
    instance_id TEXT NOT NULL REFERENCES instances (id),
    id TEXT NOT NULL,
    record BYTEA NOT NULL,
    PRIMARY KEY (instance_id, id)
  );
`;
/**
 * Snapshot for read-only transactions. Updates do not use it: they must see what the previous lock owner
 * committed.
 */
const beginSnapshot = 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY';
const connectMs = 5_000;
const statementMs = 15_000;
const maxConnections = 10;
/** An arbitrary number, the same in all brokers of a database, for the lock while the tables are created. */
const schemaLock = 7_305_441;

/**
 * A store in PostgreSQL, which several brokers may share. A change of an instance or its bindings takes an
 * advisory lock of the instance id until the end of the transaction. The server releases the lock of a broker
 * that dies. The tables are created at the first use.
 */
export class PostgresStore implements BrokerStore {
  readonly #pool: Pool;
  readonly #records: RecordCipher;
  #schemaCreated: Promise<void> | undefined;

  constructor({ ca, ...where }: PostgresAccess, records: RecordCipher) {
    this.#records = records;
    this.#pool = new Pool({
      ...where,
      max: maxConnections,
      connectionTimeoutMillis: connectMs,
      statement_timeout: statementMs,
      query_timeout: statementMs,
      ...(where.host.startsWith('/') ? {} : { ssl: ca === undefined ? true : { ca } }),
    });
    // an idle connection may break; the next query reports the error
    this.#pool.on('error', () => undefined);
  }

  read(target: RecordKey): Promise<BindingView> {
    return this.#withSchema((client) => this.#readView(client, target), beginSnapshot);
  }

  change(target: RecordKey, decide: (view: BindingView) => StoreUpdate): Promise<BrokerResponse> {
    return this.#change(target, async (client) => decide(await this.#readView(client, target)));
  }

  updateInstance(instanceId: string, decide: (view: InstanceView) => StoreUpdate): Promise<BrokerResponse> {
    return this.#change({ instanceId }, async (client) => {
      const { instance } = await this.#readView(client, { instanceId });
      const sql = 'SELECT id FROM bindings WHERE instance_id = $1 ORDER BY id COLLATE "C"';
      const { rows } = await client.query<Pick<Row, 'id'>>(sql, [instanceId]);
      return decide({ instance, bindingIds: rows.map(({ id }) => id) });
    });
  }

  ping(): Promise<void> {
    return this.#withSchema(async (client) => {
      // reads a record, if there is one, because encryption keys may be missing
      const [row] = await rowsOf(client, 'SELECT id, record FROM instances LIMIT 1', []);
      if (row !== undefined) this.#records.readInstance(row.record, row.id);
    });
  }

  close(): Promise<void> {
    return this.#pool.end();
  }

  /** Decides and writes in one transaction, under the lock of the instance. */
  #change(target: RecordKey, decide: (client: ClientBase) => Promise<StoreUpdate>): Promise<BrokerResponse> {
    return this.#withSchema(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [target.instanceId]);
      const change = await decide(client);
      await this.#write(client, target, change);
      return change.answer;
    });
  }

  async #withSchema<T>(work: (client: ClientBase) => Promise<T>, begin?: string): Promise<T> {
    try {
      this.#schemaCreated ??= this.#inTransaction(async (client) => {
        await client.query('SELECT pg_advisory_xact_lock($1)', [schemaLock]);
        await client.query(schema);
      });
      await this.#schemaCreated.catch((error: unknown) => {
        this.#schemaCreated = undefined;
        throw error;
      });
      return await this.#inTransaction(work, begin);
    } catch (error) {
      throw toStoreUnavailable(error);
    }
  }

  async #inTransaction<T>(work: (client: ClientBase) => Promise<T>, begin = 'BEGIN'): Promise<T> {
    const client = await this.#pool.connect();
    let broken: Error | undefined;
    try {
      await client.query(begin);
      const result = await work(client);
      await client.query('COMMIT');
      return result;
    } catch (error) {
      broken = await rollback(client, error);
      throw error;
    } finally {
      client.release(broken);
    }
  }

  async #readView(client: ClientBase, { instanceId, bindingId }: RecordKey): Promise<BindingView> {
    const rows = await rowsOf(client, 'SELECT id, record FROM instances WHERE id = $1', [instanceId]);
    const instance = rows[0] && this.#records.readInstance(rows[0].record, instanceId);
    if (bindingId === undefined) return { instance, binding: undefined };
    const sql = 'SELECT id, record FROM bindings WHERE instance_id = $1 AND id = $2';
    const [binding] = await rowsOf(client, sql, [instanceId, bindingId]);
    return {
      instance,
      binding: binding && this.#records.readBinding(binding.record, { instanceId, bindingId }),
    };
  }

  async #write(
    client: ClientBase,
    { instanceId, bindingId = '' }: RecordKey,
    { instance, binding }: StoreUpdate,
  ): Promise<void> {
    if (binding === null)
      await client.query('DELETE FROM bindings WHERE instance_id = $1 AND id = $2', [instanceId, bindingId]);
    if (instance === null) await client.query('DELETE FROM instances WHERE id = $1', [instanceId]);
    if (instance)
      await client.query(
        'INSERT INTO instances (id, record) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET record = excluded.record',
        [instanceId, this.#records.writeInstance(instance)],
      );
    if (binding)
      await client.query(
        'INSERT INTO bindings (instance_id, id, record) VALUES ($1, $2, $3) ON CONFLICT (instance_id, id) DO UPDATE SET record = excluded.record',
        [instanceId, bindingId, this.#records.writeBinding(binding)],
      );
  }
}

interface Row {
  readonly id: string;
  readonly record: Buffer;
}

async function rowsOf(client: ClientBase, sql: string, values: unknown[]): Promise<Row[]> {
  const { rows } = await client.query<Row>(sql, values);
  return rows;
}

/**
 * Rolls back the transaction that `error` broke. Returns the error if the rollback fails; the caller must
 * then discard the connection.
 */
async function rollback(client: ClientBase, error: unknown): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/**
 * Turns errors of the database and of the connection to it into STORE_UNAVAILABLE. Returns all other errors
 * unchanged, for example those of `decide`.
 */
function toStoreUnavailable(error: unknown): unknown {
  if (isProductError(error)) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
  const isOurs = !(
    error instanceof DatabaseError ||
    (code !== undefined && !code.startsWith('ERR_')) ||
    isTimeout(error)
  );
  if (isOurs || !(error instanceof Error)) return error;
  const reason = error.message === '' ? (code ?? 'no answer') : error.message;
  const message = `the PostgreSQL database of the broker cannot be read or written: ${reason}; check the server, the permissions of the user and the network between them`;
  return new ProductError('STORE_UNAVAILABLE', message, { cause: error });
}

/** Returns true for timeouts and broken connections, for which pg has no error code. */
const isTimeout = (error: unknown): boolean =>
  error instanceof Error && /timeout|Connection terminated|connection error/iu.test(error.message);
