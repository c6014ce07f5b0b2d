import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../../test/support/until.ts';
import { credhubStub, uaaClient } from './testing/credhub-stub.ts';
import { noPostgres, postgresServer } from './testing/postgres-server.ts';
import type { CallBroker } from './testing/test-broker.ts';
import { auth, bindBody, callerOf, nfsPlan, nfsQuery, provisionBody } from './testing/test-broker.ts';

const kills = 6;
const clients = 8;
const key = Buffer.alloc(32, 3).toString('base64');

/** A broker as a process of its own, and the way to call it. */
async function startProcess(config: string): Promise<{ child: ChildProcess; call: CallBroker }> {
  const main = join(import.meta.dirname, 'main.ts');
  const child = spawn(process.execPath, [main, '--config', config], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /listening at http:\/\/127\.0\.0\.1:(\d+)/u.exec(line)?.[1];
    if (port === undefined) continue;
    child.stdout.resume();
    return { child, call: callerOf(`http://127.0.0.1:${port}`) };
  }
  throw new Error('the broker ended before it listened');
}

/** One life of an instance and a binding; each change is sent until it is answered, as a platform does. */
async function life(number: number, send: CallBroker): Promise<void> {
  const instance = `/v2/service_instances/i-${number}`;
  const binding = `${instance}/service_bindings/b-${number}`;
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

const title =
  'killed under load, a broker answers the same again, and nothing is left that the platform does not know';

test(`${title}: SQLite`, async (t) => {
  await killUnderLoad(t, (folder) => `{sqlite: ${join(folder, 'broker.db')}}`);
});

test(`${title}: PostgreSQL`, { skip: noPostgres }, async (t) => {
  const server = await postgresServer();
  t.after(() => server.remove());
  await killUnderLoad(t, () => `{postgresql: ${JSON.stringify(server.access)}}`);
});

test(`${title}: CredHub`, async (t) => {
  const stub = await credhubStub();
  t.after(() => stub.stop());
  stub.before = () => delay(2);
  await killUnderLoad(t, (folder) => {
    const ca = join(folder, 'ca.pem');
    writeFileSync(ca, stub.ca);
    const uaa = { client_id: uaaClient.id, client_secret: uaaClient.secret };
    return JSON.stringify({ credhub: { url: stub.url, store_id: 'nfsbroker', ca, uaa } });
  });
  assert.deepEqual(
    [...stub.credentials.keys()].filter((name) => name.endsWith('/instance') || name.includes('/bindings/')),
    ['/nfsbroker/volume-broker/last/instance'],
  );
});

/** `storeIn` is the setting `store` of a broker that may keep files in a folder. */
async function killUnderLoad(t: TestContext, storeIn: (folder: string) => string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'broker-crash-'));
  t.after(() => rm(folder, { recursive: true }));
  const config = join(folder, 'broker.yml');
  const store = storeIn(folder);
  const settings = [
    'listen: 127.0.0.1:0',
    `username: ${auth.username}`,
    `password: ${auth.passwords[0]}`,
    `store: ${store}`,
    ...(store.includes('credhub') ? [] : [`encryption_keys: ['${key}']`]),
    `volume_id: {key: '${key}'}`,
  ];
  await writeFile(config, settings.join('\n'), { mode: 0o600 });

  let running = await startProcess(config);
  t.after(() => running.child.kill('SIGKILL'));
  let restarting = Promise.resolve();
  /** Until there is an answer: a killed broker gives none. */
  const send: CallBroker = async (...request) => {
    for (;;) {
      await restarting;
      try {
        return await running.call(...request);
      } catch (error) {
        if (!(error instanceof TypeError)) throw error;
      }
    }
  };

  const progress = { lives: 0, isOver: false };
  const client = async (): Promise<void> => {
    while (!progress.isOver) {
      progress.lives += 1;
      await life(progress.lives, send);
    }
  };
  const killer = async (): Promise<void> => {
    for (let killed = 0; killed < kills; killed += 1) {
      // after so many lives of this broker, at whatever point the others are
      const enough = progress.lives + 4 + (killed % 5);
      await until('lives of bindings', async () => progress.lives >= enough);
      const exited = once(running.child, 'exit');
      running.child.kill('SIGKILL');
      restarting = exited.then(async () => {
        running = await startProcess(config);
      });
      await restarting;
    }
    progress.isOver = true;
  };
  await Promise.all([killer(), ...Array.from({ length: clients }, client)]);

  for (let number = 1; number <= progress.lives; number += 1)
    assert.equal(
      (await send('GET', `/v2/service_instances/i-${number}`)).status,
      404,
      `instance i-${number} is left`,
    );
  assert.ok(progress.lives > kills * 4);
  // what is bound and not deleted stays
  await send('PUT', '/v2/service_instances/last', { body: { ...provisionBody, ...nfsPlan } });
  assert.equal((await send('GET', '/v2/service_instances/last')).status, 200);
}
