import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test, type TestContext } from 'node:test';
import { bindingRecord, instanceRecord, storeSuite } from '../testing/store-suite.ts';
import { RecordCipher } from './record-cipher.ts';
import { SqliteStore } from './sqlite-store.ts';

const sealed = (keys: readonly [Buffer, ...Buffer[]]): RecordCipher => new RecordCipher(keys);

async function filePath(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'broker-store-'));
  t.after(() => rm(directory, { recursive: true }));
  return join(directory, 'broker.db');
}

storeSuite('SQLite', async (t) => {
  const store = new SqliteStore(await filePath(t), sealed([randomBytes(32)]));
  t.after(() => store.close());
  return store;
});

const target = { instanceId: 'i', bindingId: 'b' };
const answer = { status: 201, body: {} };

test('another process reads the written records, also with the new key before the old one', async (t) => {
  const path = await filePath(t);
  const [old, next] = [randomBytes(32), randomBytes(32)];
  const first = new SqliteStore(path, sealed([old]));
  await first.change(target, () => ({ answer, instance: instanceRecord('i') }));
  await first.change(target, () => ({ answer, binding: bindingRecord('b', 'i') }));
  const second = new SqliteStore(path, sealed([next, old]));
  t.after(() => Promise.all([first.close(), second.close()]));
  assert.deepEqual((await second.read(target)).binding, bindingRecord('b', 'i'));
  await second.change(target, () => ({ answer, binding: bindingRecord('b', 'i') }));
  const third = new SqliteStore(path, sealed([next]));
  t.after(() => third.close());
  for (const work of [third.read(target), third.ping()])
    await assert.rejects(work, {
      code: 'STORE_UNAVAILABLE',
      message: /no key of the configuration decrypts instances\/i; add the key .* of encryption_keys/u,
    });
});

test('files are readable only by their user, also if they existed before', async (t) => {
  const path = await filePath(t);
  void new SqliteStore(path, sealed([randomBytes(32)]));
  await chmod(path, 0o644);
  const store = new SqliteStore(path, sealed([randomBytes(32)]));
  t.after(() => store.close());
  await store.change(target, () => ({ answer, instance: instanceRecord('i') }));
  for (const name of [path, `${path}-wal`, `${path}-shm`])
    assert.equal((await stat(name)).mode & 0o777, 0o600, name);
});

test('a record that was moved to another id is refused', async (t) => {
  const path = await filePath(t);
  const store = new SqliteStore(path, sealed([randomBytes(32)]));
  t.after(() => store.close());
  for (const id of ['i', 'j'])
    await store.change({ instanceId: id }, () => ({ answer, instance: instanceRecord(id) }));
  const database = new DatabaseSync(path);
  database.exec("UPDATE instances SET record = (SELECT record FROM instances WHERE id = 'i') WHERE id = 'j'");
  database.close();
  await assert.rejects(store.read({ instanceId: 'j' }));
});

test('a file that cannot be written is reported as unavailable', async (t) => {
  const path = await filePath(t);
  const store = new SqliteStore(path, sealed([randomBytes(32)]));
  t.after(() => store.close());
  const blocker = new DatabaseSync(path);
  t.after(() => blocker.close());
  blocker.exec('DROP TABLE bindings; DROP TABLE instances');
  await assert.rejects(store.ping(), { code: 'STORE_UNAVAILABLE' });
});
