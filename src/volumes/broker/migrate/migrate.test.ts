import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { parseBrokerConfig } from '../config.ts';
import { createVolumeId } from '../volume-mount.ts';
import { type CredhubStub, credhubStub, uaaClient } from '../../credhub/testing/credhub-stub.ts';
import {
  auth,
  type CallBroker,
  nfsPlan,
  nfsQuery,
  provisionBody,
  smbPlan,
  smbSecret,
  testBroker,
} from '../testing/test-broker.ts';
import { runMigrate } from '../cli.ts';

const old = { ...nfsPlan, organization_guid: 'org-1', space_guid: 'space-1' };
const parameters = { uid: '1000', gid: 1000 };
const binding = { ...nfsPlan, app_guid: 'app-1', bind_resource: { app_guid: 'app-1' }, parameters };
/** The id that nfsbroker returned for these parameters. */
const oldVolume = /^i-1-d6d375f5[0-9a-f]{20}216f$/u;

interface Migration {
  readonly stub: CredhubStub;
  /** Runs `volumes migrate`. Returns its exit code and output. */
  readonly migrate: () => Promise<{ code: number; text: string }>;
  /** Starts a broker on the store that has the imported records. */
  readonly broker: () => Promise<CallBroker>;
}

/** Prepares a migration. `kind` is the store to migrate to. CredHub is also the store of the old broker. */
async function migration(t: TestContext, kind: 'sqlite' | 'credhub'): Promise<Migration> {
  const directory = await mkdtemp(join(tmpdir(), 'broker-migrate-'));
  const stub = await credhubStub();
  t.after(async () => {
    await stub.stop();
    await rm(directory, { recursive: true });
  });
  const ca = join(directory, 'ca.pem');
  await writeFile(ca, stub.ca);
  const uaa = { client_id: uaaClient.id, client_secret: uaaClient.secret };
  const credhub = { url: stub.url, store_id: 'nfsbroker', ca, uaa };
  const key = randomBytes(32).toString('base64');
  const settings = {
    username: auth.username,
    password: auth.passwords[0],
    nfs: { defaults: { auto_cache: true } },
    smb: {},
    volume_id: { key },
    ...(kind === 'credhub'
      ? { store: { credhub } }
      : { store: { sqlite: join(directory, 'broker.db') }, encryption_keys: [key], migrate_from: [credhub] }),
  };
  const path = join(directory, 'broker.yml');
  await writeFile(path, JSON.stringify(settings), { mode: 0o600 });
  return {
    stub,
    migrate: async () => {
      const printed: string[] = [];
      const out = (text: string): void => void printed.push(text);
      const code = await runMigrate(['--config', path], { environment: {}, out });
      return { code, text: printed.join('') };
    },
    broker: async () => {
      const config = parseBrokerConfig(JSON.stringify(settings), {});
      return (await testBroker(t, { ...config, listen: { host: '127.0.0.1', port: 0 } })).call;
    },
  };
}

const instancePath = '/v2/service_instances/i-1';
const bindingPath = `${instancePath}/service_bindings/b-1`;

for (const kind of ['sqlite', 'credhub'] as const) {
  test(`an import into ${kind} keeps instances and bindings, and runs no step twice`, async (t) => {
    const { stub, migrate, broker } = await migration(t, kind);
    const records = {
      '/nfsbroker/i-1': { ...old, ServiceFingerPrint: { share: 'server/export', version: '4.1' } },
      '/nfsbroker/legacy': { ...old, ServiceFingerPrint: 'server/old' },
      '/nfsbroker/b-1': binding,
      '/nfsbroker/migrated-from-sql': { done: true },
    };
    for (const [name, value] of Object.entries(records)) stub.credentials.set(name, value);
    const first = await migrate();
    assert.deepEqual(
      [first.code, / 2 instances and 1 bindings imported, 0 /u.test(first.text)],
      [0, true],
      first.text,
    );

    const call = await broker();
    const again = { ...provisionBody, parameters: { share: 'server/export', version: '4.1' } };
    assert.equal((await call('PUT', instancePath, { body: again })).status, 200);
    assert.equal((await call('GET', `/v2/service_instances/legacy`)).status, 200);
    const bound = await call('PUT', bindingPath, { body: { ...nfsPlan, app_guid: 'app-1', parameters } });
    assert.equal(bound.status, 200, bound.text);
    const [mount] = bound.body['volume_mounts'] as { device: { volume_id: string } }[];
    assert.match(mount?.device.volume_id ?? '', oldVolume);
    assert.equal((await call('GET', bindingPath)).status, 200);
    assert.equal((await call('DELETE', `${instancePath}${nfsQuery}`)).status, 400, 'it has a binding');
    for (const path of [bindingPath, instancePath])
      assert.equal((await call('DELETE', `${path}${nfsQuery}`)).status, 200);

    const second = await migrate();
    assert.deepEqual(
      [second.code, /: 0 instances and 0 bindings imported, 3 /u.test(second.text)],
      [0, true],
      second.text,
    );
    for (const path of [bindingPath, instancePath])
      assert.equal((await call('DELETE', `${path}${nfsQuery}`)).status, 410);
    for (const [name, value] of Object.entries(records)) assert.deepEqual(stub.credentials.get(name), value);
  });
}

test('a binding is attached at a fetch and at an unbind too', async (t) => {
  const { stub, migrate, broker } = await migration(t, 'sqlite');
  stub.credentials.set('/nfsbroker/i-1', {
    ...old,
    ServiceFingerPrint: { share: 'server/export', version: '4.1' },
  });
  for (const id of ['b-1', 'b-2']) stub.credentials.set(`/nfsbroker/${id}`, binding);
  await migrate();
  const call = await broker();
  const fetched = await call('GET', bindingPath);
  const [mount] = fetched.body['volume_mounts'] as { device: { volume_id: string } }[];
  assert.match(mount?.device.volume_id ?? '', oldVolume);
  const other = `${instancePath}/service_bindings/b-2${nfsQuery}`;
  assert.equal((await call('DELETE', other)).status, 200);
  assert.equal((await call('DELETE', other)).status, 410);
});

test('a broker that is killed while it attaches a binding continues at the next request, and does not attach it twice', async (t) => {
  const { stub, migrate, broker } = await migration(t, 'credhub');
  stub.credentials.set('/nfsbroker/i-1', { ...old, ServiceFingerPrint: 'server/export' });
  stub.credentials.set('/nfsbroker/b-1', binding);
  await migrate();
  const call = await broker();
  // fails the write that marks the binding as attached, after the write of the binding itself
  const isHalfWay = (): boolean => [...stub.credentials.keys()].some((name) => name.includes('/bindings/'));
  stub.fail = (request) => (request.startsWith('PUT') && isHalfWay() ? 403 : undefined);
  const unbind = `${bindingPath}${nfsQuery}`;
  assert.equal((await call('DELETE', unbind)).status, 503);
  assert.ok(isHalfWay());
  stub.fail = () => undefined;
  assert.equal((await call('DELETE', unbind)).status, 200);
  assert.equal((await call('DELETE', unbind)).status, 410);
});

test('the volume id is made from the original parameters of the old broker, and the mount from their meaning', async (t) => {
  const { stub, migrate, broker } = await migration(t, 'sqlite');
  const given = { username: 'user', password: smbSecret, readonly: 'true' };
  const share = '//SERVER/share';
  stub.credentials.set('/nfsbroker/i-1', { ...old, ...smbPlan, ServiceFingerPrint: { share } });
  stub.credentials.set('/nfsbroker/b-1', { ...binding, ...smbPlan, parameters: given });
  await migrate();
  const call = await broker();
  const bound = await call('PUT', bindingPath, {
    body: { ...smbPlan, app_guid: 'app-1', parameters: given },
  });
  assert.equal(bound.status, 200, bound.text);
  const [mount] = bound.body['volume_mounts'] as {
    mode: string;
    device: { volume_id: string; mount_config: Record<string, string> };
  }[];
  const hashed = { source: share, username: 'user', password: smbSecret, ro: 'true' };
  assert.equal(mount?.device.volume_id, createVolumeId('i-1', hashed, 'md5'));
  assert.deepEqual([mount.mode, mount.device.mount_config['source']], ['r', '//server/share']);
});

test('reports invalid records without their values, and imports the others', async (t) => {
  const { stub, migrate } = await migration(t, 'sqlite');
  const faulty = {
    'bad-id': { ...old, service_id: 'nfsbroker', ServiceFingerPrint: { share: 'server/export' } },
    colour: { ...old, ServiceFingerPrint: { share: 'server/export', colour: 'geheim' } },
    hash: { ...binding, parameters: { paramsHash: 'geheim' } },
    plan: { ...old, plan_id: 'geheim', ServiceFingerPrint: { share: 'server/export' } },
    text: 'geheim',
    uid: { ...binding, parameters: { uid: 'geheim' } },
    what: { ...old },
  };
  for (const [id, value] of Object.entries(faulty)) stub.credentials.set(`/nfsbroker/${id}`, value);
  stub.credentials.set('/nfsbroker/good', { ...old, ServiceFingerPrint: 'server/export' });
  const { code, text } = await migrate();
  assert.equal(code, 1);
  assert.match(text, /: 1 instances and 0 bindings imported, 0 existed already, 7 skipped\n/u);
  const skippedIds = [...text.matchAll(/^- skipped: \/nfsbroker\/(\S+): /gmu)].map(([, id]) => id);
  assert.deepEqual(skippedIds, Object.keys(faulty));
  assert.match(text, /colour: - Not allowed options: colour\n/u);
  assert.doesNotMatch(text, /geheim/u);
  assert.equal(stub.credentials.size, 8);
});

test('a store other than CredHub needs the location of the old records', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'broker-migrate-'));
  t.after(() => rm(directory, { recursive: true }));
  const path = join(directory, 'broker.yml');
  const key = randomBytes(32).toString('base64');
  const store = { sqlite: join(directory, 'broker.db') };
  const settings = { username: 'u', password: 'p', store, encryption_keys: [key], volume_id: { key } };
  await writeFile(path, JSON.stringify(settings));
  const ports = { environment: {}, out: () => undefined };
  await assert.rejects(runMigrate(['--config', path], ports), { message: /migrate_from is missing/u });
  await assert.rejects(runMigrate([], ports), { code: 'INVALID_ARGUMENT' });
});
