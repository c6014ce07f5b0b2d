import assert from 'node:assert/strict';
import { mkdir, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { inClusterAccess } from '../../src/kubernetes/access/server-access.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { isPodReady, type Pod } from '../../src/kubernetes/types/pod.ts';
import type { EventRecord } from '../../src/kubernetes/describe-pod.ts';
import {
  configMaps,
  events,
  pods,
  roleBindings,
  runtimeClasses,
  secrets,
  serviceAccounts,
} from '../../src/kubernetes/resources.ts';
import { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { type LocalApi, openLocalApi } from '../api-server/local-api.ts';
import { until } from '../../test/support/until.ts';
import { loadCredentials } from '../api-server/pki/credentials.ts';
import { type ApiServer, startApiServer } from '../api-server/start-api-server.ts';
import { startControllers } from '../controllers/start-controllers.ts';
import { runCommand } from './command.ts';
import type { EmbeddedNode } from './embedded-node.ts';
import { hostRootImage } from './node-object.ts';
import { nodeLayout } from './node-paths.ts';
import { mountsAtOrBelow, readMountTable } from '../../src/platform/mountinfo.ts';
import { safeRemove } from '../../src/platform/safe-remove.ts';
import { startNode } from './start-node.ts';
import { describeInNamespace } from './testing/in-namespace.ts';
import { PodVolumes } from './volumes/pod-volumes.ts';

/**
 * Tests a pod with a service account: the files that its processes find, and the rights that the API gives
 * it.
 */
describeInNamespace(import.meta.filename, () => {
  const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  let directory: string;
  let api: LocalApi;
  let node: EmbeddedNode;
  let server: ApiServer;
  let controllers: { stop(): Promise<void> };

  before(async () => {
    directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-account-')));
    const runtimeDirectory = join(directory, 'runtime');
    await mkdir(runtimeDirectory);
    api = await openLocalApi({ directory });
    const { promise: apiServer, resolve: serving } = Promise.withResolvers<URL>();
    const clock = systemClock;
    node = await startNode({
      api,
      directory,
      runtimeDirectory,
      clock,
      version: '1.36.0',
      apiServer,
      onError,
    });
    const { authority: rootCertificate } = await loadCredentials(directory, clock.now());
    const random = Math.random;
    controllers = await startControllers({ api, provisioner: node, clock, random, rootCertificate, onError });
    server = await startApiServer({ api, console: node, directory, onError });
    serving(new URL(server.url));
  });
  after(async () => {
    await controllers.stop();
    await node.stop(0);
    await server.close();
    await api.close();
    for (;;) {
      const [entry] = mountsAtOrBelow(await readMountTable(), directory);
      if (entry === undefined) break;
      await runCommand('umount', ['--lazy', entry.target]);
    }
    await safeRemove(directory);
    assert.deepEqual(errors, []);
  });

  const waitFor = <T>(what: string, check: () => Promise<T | undefined>): Promise<T> =>
    until(async () => `${what}: ${await lastLine()}`, check, 20_000);

  async function lastLine(): Promise<string> {
    const { items } = await api.list<EventRecord>(events, { namespace: 'bosh' });
    return items.map(({ reason, message }) => `${reason}: ${message}`).join('; ');
  }

  async function inPod(script: string): Promise<string> {
    const command = ['/bin/sh', '-c', script];
    const target = { namespace: 'bosh', pod: 'tenant', container: 'main', command };
    const session = await node.exec({ ...target, stdin: false, tty: false });
    const [stdout, stderr] = await Promise.all([buffer(session.stdout), buffer(session.stderr)]);
    assert.equal((await session.exited).exitCode, 0, stderr.toString());
    return stdout.toString();
  }

  const main = {
    name: 'main',
    image: hostRootImage,
    command: ['/bin/sh', '-c', 'trap "exit 0" TERM; sleep 1000 & wait'],
  };

  test('a pod has its token, authority and namespace, and the API accepts the token until the pod is deleted', async () => {
    await api.create(serviceAccounts, { metadata: { namespace: 'bosh', name: 'tenant' } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
    const subjects = [{ kind: 'ServiceAccount', name: 'tenant' }];
    await api.create(roleBindings, {
      metadata: { namespace: 'bosh', name: 'tenant' },
      ...{ roleRef, subjects },
    });
    const pod = await api.create<Pod>(pods, {
      metadata: { namespace: 'bosh', name: 'tenant' },
      spec: { serviceAccountName: 'tenant', terminationGracePeriodSeconds: 2, containers: [main] },
    });
    const reference = { resource: pods, namespace: 'bosh', name: 'tenant' };
    await waitFor('the pod to run', async () =>
      isPodReady(await api.get<Pod>(reference)) ? true : undefined,
    );

    const found = join(directory, 'found');
    await mkdir(found);
    for (const name of ['token', 'ca.crt', 'namespace'])
      await writeFile(join(found, name), await inPod(`cat ${mountPath}/${name}`));
    const lines = (await inPod('env')).split('\n').filter((line) => line.startsWith('KUBERNETES_'));
    const environment = Object.fromEntries(lines.map((line) => line.split('=') as [string, string]));
    const transport = await openTransport(inClusterAccess({ environment, directory: found }));
    const accountApi = new RestApi({ transport });
    const { items } = await accountApi.list(configMaps, { namespace: 'bosh' });
    assert(items.some(({ metadata }) => metadata.name === 'kube-root-ca.crt'));
    await assert.rejects(accountApi.list(secrets, { namespace: 'bosh' }), (error) => isApiError(error, 403));
    await assert.rejects(async () => inPod(`echo x > ${mountPath}/token`), 'the volume is read-only');

    const firstToken = await inPod(`cat ${mountPath}/token`);
    await new PodVolumes(api, nodeLayout(directory)).renewTokens(pod);
    assert.notEqual(await inPod(`cat ${mountPath}/token`), firstToken);
    assert.equal(await inPod(`cat ${mountPath}/namespace`), 'bosh');

    await api.delete(reference);
    await waitFor('the pod to go', async () =>
      (await api.list(pods, { namespace: 'bosh' })).items.length === 0 ? true : undefined,
    );
    await assert.rejects(accountApi.list(configMaps, { namespace: 'bosh' }), (error) =>
      isApiError(error, 401),
    );
    transport.close();
  });

  test('a pod with an unsupported runtime class fails, and an event has the reason', async () => {
    await api.create(runtimeClasses, { metadata: { name: 'sandbox' }, ...{ handler: 'runsc' } });
    await api.create<Pod>(pods, {
      metadata: { namespace: 'bosh', name: 'sandboxed' },
      spec: { runtimeClassName: 'sandbox', containers: [main] },
    });
    const reference = { resource: pods, namespace: 'bosh', name: 'sandboxed' };
    const failed = await waitFor('the pod to fail', async () => {
      const { status } = await api.get<Pod>(reference);
      return status?.phase === 'Failed' ? status : undefined;
    });
    assert.equal(failed.reason, 'UnsupportedByNode');
    assert.match(
      failed.message ?? '',
      /wants the RuntimeClass sandbox, and the embedded node has one runtime only/u,
    );
    await api.delete(reference);
  });
});
