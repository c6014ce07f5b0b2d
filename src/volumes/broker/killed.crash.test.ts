import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { credhubStub, uaaClient } from '../credhub/testing/credhub-stub.ts';
import { noPostgres, postgresServer } from './testing/postgres-server.ts';
import type { CallBroker } from './testing/test-broker.ts';
import { auth, bindBody, callerOf, nfsQuery, provisionBody } from './testing/test-broker.ts';

const clients = 8;
/** The operations during which a broker must have been killed at least once. */
const expected = ['provision', 'bind', 'unbind'];
const maxKills = 20;
const key = Buffer.alloc(32, 3).toString('base64');
/** The bundle starts in a third of the time of the sources. */
const program = join(import.meta.dirname, '../../../dist/volumes/broker.mjs');

interface Running {
  readonly child: ChildProcess;
  readonly call: CallBroker;
}

/** Starts a broker in its own process. Returns the process, and a function that sends requests to it. */
async function startProcess(config: string): Promise<Running> {
  const child = spawn(process.execPath, [program, '--config', config], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /listening at http:\/\/127\.0\.0\.1:(\d+)/u.exec(line)?.[1];
    if (port === undefined) continue;
    child.stdout.resume();
    return { child, call: callerOf(`http://127.0.0.1:${port}`) };
  }
  throw new Error('the broker ended before it listened');
}

const pathsOf = (name: string): { instance: string; binding: string } => {
  const instance = `/v2/service_instances/i-${name}`;
  return { instance, binding: `${instance}/service_bindings/b-${name}` };
};

/**
 * Runs the life of one instance and binding. Repeats each change until it gets a response, as a platform
 * does.
 */
async function life(name: string, send: CallBroker): Promise<void> {
  const { instance, binding } = pathsOf(name);
  const provisioned = await send('PUT', instance, { body: provisionBody });
  assert.ok([200, 201].includes(provisioned.status), provisioned.text);
  const bound = await send('PUT', binding, { body: bindBody });
  assert.ok([200, 201].includes(bound.status), bound.text);
  const again = await send('PUT', binding, { body: bindBody });
  assert.deepEqual([again.status, again.body], [200, bound.body]);
  const blocked = await send('DELETE', `${instance}${nfsQuery}`);
  assert.equal(blocked.status, 400, blocked.text);
  for (const path of [binding, instance]) {
    const deleted = await send('DELETE', `${path}${nfsQuery}`);
    assert.ok([200, 410].includes(deleted.status), deleted.text);
  }
}

function operationOf(method: string, path: string): string {
  const isBinding = path.includes('/service_bindings/');
  if (method === 'PUT') return isBinding ? 'bind' : 'provision';
  return isBinding ? 'unbind' : 'deprovision';
}

/** Returns true if no broker got the request. */
const isRefused = (error: TypeError): boolean =>
  (error.cause as { code?: string } | undefined)?.code === 'ECONNREFUSED';

const title =
  'after kills under load a broker repeats its responses and leaves no record unknown to the platform';
/** Records of the instance `keep`, which was bound before the first kill. */
const kept = ['i-keep', 'i-keep/b-keep'];

test(`${title}: SQLite`, async (t) => {
  const directory = await scratch(t);
  const path = join(directory, 'broker.db');
  await killUnderLoad(t, { directory, brokers: 1, store: { sqlite: path } });
  const database = new DatabaseSync(path, { readOnly: true });
  t.after(() => database.close());
  const ids = database.prepare(`${recordIds} ORDER BY 1`).all();
  assert.deepEqual(
    ids.map(({ id }) => id),
    kept,
  );
  assert.deepEqual({ ...database.prepare('PRAGMA journal_mode').get() }, { journal_mode: 'wal' });
});

test(
  `${title}, and the other broker does not wait for its lock: two brokers on one PostgreSQL`,
  { skip: noPostgres },
  async (t) => {
    const server = await postgresServer();
    t.after(() => server.remove());
    const directory = await scratch(t);
    await killUnderLoad(t, { directory, brokers: 2, store: { postgresql: server.access } });
    const client = new Client(server.access);
    await client.connect();
    const { rows } = await client.query<{ id: string }>(recordIds);
    await client.end();
    assert.deepEqual(rows.map(({ id }) => id).toSorted(), kept);
  },
);

test(`${title}: CredHub`, async (t) => {
  const stub = await credhubStub();
  t.after(() => stub.stop());
  stub.before = () => delay(2);
  const directory = await scratch(t);
  const ca = join(directory, 'ca.pem');
  writeFileSync(ca, stub.ca);
  const uaa = { client_id: uaaClient.id, client_secret: uaaClient.secret };
  const credhub = { url: stub.url, store_id: 'nfsbroker', ca, uaa };
  await killUnderLoad(t, { directory, brokers: 1, store: { credhub } });
  const root = '/nfsbroker/volume-broker';
  assert.deepEqual([...stub.credentials.keys()].toSorted(), [
    `${root}/format`,
    `${root}/i-keep/bindings/b-keep`,
    `${root}/i-keep/instance`,
  ]);
});

const recordIds = "SELECT id FROM instances UNION ALL SELECT instance_id || '/' || id AS id FROM bindings";

async function scratch(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'broker-crash-'));
  t.after(() => rm(directory, { recursive: true }));
  return directory;
}

interface Load {
  readonly directory: string;
  /** The number of broker processes that share the store. */
  readonly brokers: number;
  /** The setting `store`. */
  readonly store: object;
}

async function killUnderLoad(t: TestContext, { directory, brokers, store }: Load): Promise<void> {
  const config = join(directory, 'broker.yml');
  const settings = {
    listen: '127.0.0.1:0',
    username: auth.username,
    password: auth.passwords[0],
    store,
    volume_id: { key },
    ...('credhub' in store ? {} : { encryption_keys: [key] }),
  };
  await writeFile(config, JSON.stringify(settings), { mode: 0o600 });

  const running = Array.from({ length: brokers }, () => startProcess(config));
  t.after(async () => {
    for (const { child } of await Promise.all(running)) child.kill('SIGKILL');
  });
  const killedIn = new Set<string>();
  const isMissing = (operation: string): boolean => expected.includes(operation) && !killedIn.has(operation);
  const sent = new EventEmitter();
  let turn = 0;
  /** Repeats a request until any broker responds. A killed broker does not respond. */
  const send: CallBroker = async (method, path, ...rest) => {
    const operation = operationOf(method, path);
    for (;;) {
      turn += 1;
      const index = turn % brokers;
      const { call } = (await running[index]) as Running;
      try {
        const answer = call(method, path, ...rest);
        if (isMissing(operation)) sent.emit('operation', index);
        return await answer;
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        if (!isRefused(error)) killedIn.add(operation);
      }
    }
  };

  const keep = pathsOf('keep');
  await send('PUT', keep.instance, { body: provisionBody });
  const bound = await send('PUT', keep.binding, { body: bindBody });
  assert.equal(bound.status, 201, bound.text);

  const progress = { lives: 0, isOver: false };
  const client = async (): Promise<void> => {
    while (!progress.isOver) {
      progress.lives += 1;
      await life(String(progress.lives), send);
    }
  };
  const killer = async (): Promise<void> => {
    for (let kills = 0; kills < maxKills && expected.some(isMissing); kills += 1) {
      const [index] = (await once(sent, 'operation')) as [number];
      // kills at a different moment of the operation each time
      await delay(3 * (kills % 6));
      const { child } = (await running[index]) as Running;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      running[index] = exited.then(() => startProcess(config));
      await running[index];
      const again = await send('PUT', keep.binding, { body: bindBody });
      assert.deepEqual([again.status, again.body], [200, bound.body]);
    }
    progress.isOver = true;
  };
  try {
    await Promise.all([killer(), ...Array.from({ length: clients }, client)]);
  } finally {
    progress.isOver = true;
  }
  assert.deepEqual(expected.filter(isMissing), [], 'operations in which no broker was killed');
}
