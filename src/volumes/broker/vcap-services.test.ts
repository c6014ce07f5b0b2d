import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { postgresFromVcapServices } from './vcap-services.ts';
import { parseBrokerConfig } from './config.ts';
import { noPostgres, postgresServer } from './testing/postgres-server.ts';
import { auth, callerOf, instancePath, nfsQuery, provisionBody } from './testing/test-broker.ts';

const servicesOf = (credentials: unknown, label = 'user-provided'): string =>
  JSON.stringify({ other: [{ name: 'else', credentials: {} }], [label]: [{ name: 'db', credentials }] });

const access = (credentials: unknown): object => {
  const bound = postgresFromVcapServices(servicesOf(credentials), 'db');
  assert.ok('access' in bound, 'problem' in bound ? bound.problem : '');
  return bound.access;
};

test('a database is read from a uri, or from the fields of existing database brokers', () => {
  const whole = { host: 'db.example.com', port: 6432, database: 'volumes', user: 'u@x', password: 'p/w:%' };
  const uri = 'postgres://u%40x:p%2Fw:%25@db.example.com:6432/volumes?sslmode=require';
  assert.deepEqual(access({ uri }), { ...whole, ca: undefined });
  const { host: hostname, port, database: dbname, user: username, password } = whole;
  assert.deepEqual(access({ hostname, port, dbname, username, password }), { ...whole, ca: undefined });
  assert.deepEqual(access({ ...whole, port: '6432' }), { ...whole, ca: undefined });
  const ca = '-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----';
  assert.deepEqual(access({ uri: 'postgresql://u@[::1]/d', password: 'other', ca }), {
    host: '::1',
    port: 5432,
    database: 'd',
    user: 'u',
    password: 'other',
    ca,
  });
});

test('an invalid database is an error of the setting, with the remedy and without its values', () => {
  const problemOf = (vcapServices: string | undefined): string => {
    const bound = postgresFromVcapServices(vcapServices, 'db');
    return 'problem' in bound ? bound.problem : '';
  };
  assert.match(problemOf(undefined), /VCAP_SERVICES is not in the environment/u);
  for (const none of ['', '[]', '{"a": 1}', '{"a": [{"name": "other"}]}'])
    assert.match(problemOf(none), /names no service that is bound/u, none);
  for (const wrong of [
    null,
    {},
    { uri: 'mysql://geheim@h/d' },
    { uri: 'postgres://h/d' },
    { host: 'h', port: 'x' },
  ])
    assert.match(
      problemOf(servicesOf(wrong)),
      /neither uri nor all of hostname, port/u,
      JSON.stringify(wrong),
    );
});

const key = Buffer.alloc(32, 5).toString('base64');
const configText = `
username: ${auth.username}
password: ${auth.passwords[0]}
store: {postgresql: {service: db}}
encryption_keys: ['${key}']
volume_id: {key: '${key}'}
`;

test('a configuration names either the service or a host', () => {
  const VCAP_SERVICES = servicesOf({ uri: 'postgres://u:geheim@h/d' }, 'postgresql');
  const { store } = parseBrokerConfig(configText, { VCAP_APPLICATION: '{}', VCAP_SERVICES });
  assert.equal('postgresql' in store && store.postgresql.password, 'geheim');
  const both = configText.replace('service: db', 'service: other, host: h');
  assert.throws(
    () => parseBrokerConfig(both, { VCAP_SERVICES }),
    (error: Error) => {
      assert.match(error.message, /store\.postgresql\.host must not be set together with service/u);
      assert.match(error.message, /store\.postgresql\.service names no service that is bound/u);
      return !error.message.includes('geheim');
    },
  );
});

test('the bundle alone runs as an app, with its bound service', { skip: noPostgres }, async (t) => {
  const server = await postgresServer();
  t.after(() => server.remove());
  const app = await mkdtemp(join(tmpdir(), 'broker-app-'));
  t.after(() => rm(app, { recursive: true }));
  await copyFile(join(import.meta.dirname, '../../../dist/volumes/broker.mjs'), join(app, 'broker.mjs'));
  const env = {
    VCAP_APPLICATION: '{}',
    VCAP_SERVICES: servicesOf(server.access),
    // as an app, the broker would listen at PORT on all addresses: see config.test.ts
    BROKER_CONFIG: `${configText}listen: 127.0.0.1:0\n`,
  };
  const broker = spawn(process.execPath, ['broker.mjs'], {
    cwd: app,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(broker, 'exit');
  t.after(() => broker.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: broker.stdout }), 'line')) as [string];
  const url = /http:\/\/127\.0\.0\.1:\d+/u.exec(line)?.[0] ?? '';
  const call = callerOf(url);
  assert.equal((await call('GET', '/healthz')).status, 200);
  assert.equal((await call('PUT', instancePath, { body: provisionBody })).status, 201);
  assert.equal((await call('DELETE', `${instancePath}${nfsQuery}`)).status, 200);
  broker.kill('SIGTERM');
  assert.deepEqual(await exited, [0, null]);
});
