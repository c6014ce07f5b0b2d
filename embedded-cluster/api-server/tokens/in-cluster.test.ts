import assert from 'node:assert/strict';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { inClusterAccess } from '../../../src/kubernetes/access/server-access.ts';
import { openTransport } from '../../../src/kubernetes/client/open-transport.ts';
import { clusterRoleBindings, configMaps, serviceAccounts } from '../../../src/kubernetes/resources.ts';
import { RestApi } from '../../../src/kubernetes/client/rest-api.ts';
import { ManualClock } from '../../../src/kubernetes/testing/manual-clock.ts';
import { openLocalApi } from '../local-api.ts';
import { loadCredentials } from '../pki/credentials.ts';
import { startApiServer } from '../start-api-server.ts';
import { FakeConsole } from '../testing/fake-console.ts';
import { temporaryDirectory } from '../testing/temporary-directory.ts';

interface World {
  readonly clock: ManualClock;
  /** The client of a process in a pod. */
  readonly api: RestApi;
  /** Writes the next token into the file of the process, as the node does. */
  readonly rotate: () => Promise<void>;
  /** Creates a ConfigMap as another user. */
  readonly makeConfigMap: (name: string) => Promise<void>;
}

const seconds = 600;

async function startWorld(t: TestContext): Promise<World> {
  const directory = temporaryDirectory(t);
  const clock = new ManualClock(Date.now());
  const local = await openLocalApi({ directory, clock });
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const server = await startApiServer({ api: local, console: new FakeConsole(), directory, onError });
  const mount = join(directory, 'serviceaccount');
  mkdirSync(mount);
  const { authority } = await loadCredentials(directory, clock.now());
  writeFileSync(join(mount, 'ca.crt'), authority);
  writeFileSync(join(mount, 'namespace'), 'bosh');
  await local.create(serviceAccounts, { metadata: { namespace: 'bosh', name: 'robot' } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
  const subjects = [{ kind: 'ServiceAccount', namespace: 'bosh', name: 'robot' }];
  await local.create(clusterRoleBindings, { metadata: { name: 'robot' }, ...{ roleRef, subjects } });
  const rotate = async (): Promise<void> => {
    const { status } = await local.requestToken('bosh', 'robot', { spec: { expirationSeconds: seconds } });
    writeFileSync(join(mount, 'token.new'), `${status.token}\n`);
    renameSync(join(mount, 'token.new'), join(mount, 'token'));
  };
  await rotate();
  const { hostname, port } = new URL(server.url);
  const environment = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  const transport = await openTransport(inClusterAccess({ environment, directory: mount }));
  t.after(async () => {
    transport.close();
    await server.close();
    await local.close();
    assert.deepEqual(errors, []);
  });
  return {
    ...{ clock, rotate },
    api: new RestApi({ transport }),
    makeConfigMap: async (name) =>
      void (await local.create(configMaps, { metadata: { namespace: 'bosh', name } })),
  };
}

const unauthorized = (error: unknown): boolean => {
  assert(isApiError(error, 401, 'Unauthorized'), String(error));
  assert.equal(error.message, 'Unauthorized');
  return true;
};

test('in a pod, an expired token is 401, and the next one in the file is used without a restart', async (t) => {
  const { clock, api, rotate } = await startWorld(t);
  await api.list(configMaps, { namespace: 'bosh' });
  clock.advance((seconds - 1) * 1000);
  await api.list(configMaps, { namespace: 'bosh' });
  clock.advance(1000);
  await assert.rejects(api.list(configMaps, { namespace: 'bosh' }), unauthorized);
  await rotate();
  await api.list(configMaps, { namespace: 'bosh' });
});

test('rotation before the expiry causes no failed request', async (t) => {
  const { clock, api, rotate } = await startWorld(t);
  for (let life = 0; life < 3; life += 1) {
    clock.advance(seconds * 800);
    await rotate();
    await api.list(configMaps, { namespace: 'bosh' });
  }
});

test('an authorized watch continues when its token expires, and the next one is 401', async (t) => {
  const { clock, api, makeConfigMap } = await startWorld(t);
  await makeConfigMap('before');
  const leave = new AbortController();
  const events = api.watch(configMaps, { namespace: 'bosh', signal: leave.signal })[Symbol.asyncIterator]();
  assert.equal((await events.next()).value?.object.metadata.name, 'before');
  clock.advance(seconds * 1000);
  await makeConfigMap('after');
  assert.equal((await events.next()).value?.object.metadata.name, 'after');
  leave.abort();
  const again = api.watch(configMaps, { namespace: 'bosh' });
  await assert.rejects(again[Symbol.asyncIterator]().next(), unauthorized);
});
