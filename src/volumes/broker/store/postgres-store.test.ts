import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { until } from '../../../../test/support/until.ts';
import { noPostgres, type PostgresServer, postgresServer } from '../testing/postgres-server.ts';
import { instanceRecord, storeSuite } from '../testing/store-suite.ts';
import type { BrokerStore } from './broker-store.ts';
import { PostgresStore } from './postgres-store.ts';
import { RecordCipher } from './record-cipher.ts';

const answer = { status: 200, body: {} };

describe('PostgreSQL', { skip: noPostgres }, () => {
  let server: PostgresServer;
  let databases = 0;
  before(async () => {
    server = await postgresServer();
  });
  after(() => server.remove());

  const records = new RecordCipher([randomBytes(32)]);
  const openIn = (t: TestContext, database: string): BrokerStore => {
    const store = new PostgresStore({ ...server.access, database }, records);
    t.after(() => store.close());
    return store;
  };
  async function newDatabase(): Promise<string> {
    databases += 1;
    const client = new Client(server.access);
    await client.connect();
    await client.query(`CREATE DATABASE store_${databases}`);
    await client.end();
    return `store_${databases}`;
  }

  storeSuite('PostgreSQL', async (t) => openIn(t, await newDatabase()));

  test('two brokers that start at once share one database, and each reads what the other wrote', async (t) => {
    const database = await newDatabase();
    const stores = [openIn(t, database), openIn(t, database)];
    const add = async (store: BrokerStore): Promise<void> => {
      await store.change({ instanceId: 'i' }, ({ instance }) => {
        const record = instance ?? instanceRecord('i');
        const count = Number(record.options['count'] ?? '0') + 1;
        return { answer, instance: { ...record, options: { count: String(count) } } };
      });
    };
    await Promise.all(Array.from({ length: 30 }, (_, index) => add(stores[index % 2] as BrokerStore)));
    for (const store of stores)
      assert.equal((await store.read({ instanceId: 'i' })).instance?.options['count'], '30');
  });

  test("a change of an instance waits for its own lock only, until the holder's connection is closed", async (t) => {
    const database = await newDatabase();
    const store = openIn(t, database);
    await store.change({ instanceId: 'i' }, () => ({ answer, instance: instanceRecord('i') }));
    const [holder, watcher] = [new Client({ ...server.access, database }), new Client(server.access)];
    // the watcher terminates this connection
    holder.on('error', () => undefined);
    await Promise.all([holder.connect(), watcher.connect()]);
    t.after(() => watcher.end());
    await holder.query("BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('i', 0))");
    const order: string[] = [];
    const pending = store.change({ instanceId: 'i' }, () => ({ answer })).then(() => order.push('i'));
    await until('a waiter', async () => {
      const sql = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
      return (await watcher.query(sql)).rowCount === 1;
    });
    await store.change({ instanceId: 'j' }, () => ({ answer })).then(() => order.push('j'));
    const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await watcher.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    await pending;
    assert.deepEqual(order, ['j', 'i']);
  });

  test('a key that is missing in the configuration is reported by name', async (t) => {
    const database = await newDatabase();
    const first = openIn(t, database);
    await first.change({ instanceId: 'i' }, () => ({ answer, instance: instanceRecord('i') }));
    const other = new RecordCipher([randomBytes(32)]);
    const store = new PostgresStore({ ...server.access, database }, other);
    t.after(() => store.close());
    await assert.rejects(store.ping(), { message: /^no key of the configuration decrypts instances\/i/u });
  });

  test('an unavailable server is reported, and used again when it is available', async (t) => {
    const own = await postgresServer();
    t.after(() => own.remove());
    const store = new PostgresStore(own.access, records);
    t.after(() => store.close());
    await store.change({ instanceId: 'i' }, () => ({ answer, instance: instanceRecord('i') }));
    await own.stop();
    await assert.rejects(store.ping(), { code: 'STORE_UNAVAILABLE' });
    await assert.rejects(store.read({ instanceId: 'i' }), { code: 'STORE_UNAVAILABLE' });
    await own.start();
    assert.equal((await store.read({ instanceId: 'i' })).instance?.id, 'i');
  });

  test('a missing database is reported by name, and a store that never connected can be closed', async () => {
    const store = new PostgresStore({ ...server.access, database: 'none' }, records);
    await assert.rejects(store.ping(), {
      code: 'STORE_UNAVAILABLE',
      message: /database "none" does not exist/u,
    });
    await store.close();
  });
});
