import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { namespace } from '../../src/cpi/testing/test-cloud.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { namespaces, persistentVolumeClaims, serviceAccounts } from '../../src/kubernetes/resources.ts';
import { createTestAuthority } from '../../src/kubernetes/testing/certificates.ts';
import { startProxy } from '../../src/kubernetes/testing/proxy-server.ts';
import { account, applyRoles, tokenOf } from '../conformance/roles.ts';
import { startApiProxy, type ApiProxyOptions } from '../support/api-proxy.ts';
import { call, isMissing } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

const unshare = ['unshare', '--mount', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];
const isRefused = spawnSync(unshare[0] ?? '', [...unshare.slice(1), 'true']).status !== 0;

/** Runs a command that sees the folder of argument 0 as the service account's folder of a pod. */
const inPod = `mount -t tmpfs tmpfs /var/run && mkdir -p /var/run/secrets/kubernetes.io/serviceaccount &&
  mount --bind "$0" /var/run/secrets/kubernetes.io/serviceaccount && exec "$@"`;

interface TestRequest {
  readonly config: object;
  /** Variables in addition to those that a director leaves. */
  readonly environment?: NodeJS.ProcessEnv;
}

let world: CpiWorld;
let access: Access;
/** The folder that the pod has as its service account. */
let mounted: string;
/** The variables by which a pod knows its API server. */
let ownServer: NodeJS.ProcessEnv;

before(async () => {
  world = await CpiWorld.start();
  await world.api.create<KubernetesObject>(namespaces, { metadata: { name: 'east' } });
  await applyRoles(world.api, { namespace, others: ['east'] });
  access = await loadAccess(world.settings.kubernetes['kubeconfig']);
  const { hostname, port } = new URL(access.server);
  ownServer = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
  mounted = join(world.directory, 'serviceaccount');
});
after(() => world.stop());

beforeEach(async () => {
  await rm(mounted, { recursive: true, force: true });
  await mkdir(mounted);
  await mount('ca.crt', access.ca ?? '');
  await mount('namespace', 'east');
  await mount('token', await tokenOf(access, namespace));
});

/** Replaces a file atomically, as a node does. */
async function mount(name: string, text: string): Promise<void> {
  await writeFile(`${mounted}.new`, text);
  await rename(`${mounted}.new`, join(mounted, name));
}

/** A CPI in a pod, with the pod's service account. */
for (const name of ['executable', 'bundle'] as const) {
  const skip = isMissing(name) || (isRefused && 'needs unshare --mount');
  describe(`the CPI's ${name} in a pod`, { skip }, () => {
    const ask = async (
      method: string,
      args: readonly unknown[],
      { config, environment }: TestRequest,
    ): Promise<CpiResponse> => {
      const artefact = world.artefacts.get(name) ?? assert.fail(`no ${name}`);
      const path = join(world.directory, `${name}.json`);
      await writeFile(path, JSON.stringify(config));
      const command = [...unshare, '--propagation', 'private', '/bin/sh', '-c', inPod, mounted];
      return call(
        {
          name,
          command: [...command, ...artefact.command],
          environment: { ...artefact.environment, ...environment },
        },
        { method, arguments: args, context: {} },
        { config: path },
      );
    };
    const succeeds = async (...args: Parameters<typeof ask>): Promise<unknown> => {
      const { result, error } = await ask(...args);
      assert.equal(error, null, error?.message);
      return result;
    };
    const fails = async (...args: Parameters<typeof ask>): Promise<string> =>
      (await ask(...args)).error?.message ?? '';

    test('needs no configuration of the cluster, and works in the namespace of its own or in one given', async () => {
      const own = { config: { kubernetes: {} }, environment: ownServer };
      const disk = await succeeds('create_disk', [64, {}], own);
      const { items } = await world.api.list(persistentVolumeClaims, { namespace: 'east' });
      assert.deepEqual(
        items.map(({ metadata }) => metadata.name),
        [disk],
      );
      const given = { ...own, config: { kubernetes: { namespace } } };
      assert.equal(await succeeds('has_disk', [disk], given), false);
      await succeeds('delete_disk', [disk], own);
    });

    test('an error names the missing service account of the pod', async () => {
      await rm(join(mounted, 'ca.crt'));
      const message = await fails('has_disk', ['disk-none'], { config: { kubernetes: {} } });
      assert.match(message, /there is no kubeconfig and no service account: .*\/ca\.crt cannot be read/u);
    });

    test('speaks as the service account to a server that has no credentials, with its authority or one given', async () => {
      const server = { server: access.server };
      // the configuration takes precedence over these variables
      const environment = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' };
      const requestWith = (kubernetes: object): TestRequest => ({ config: { kubernetes }, environment });
      assert.equal(await succeeds('has_disk', ['disk-none'], requestWith(server)), false);
      await mount('ca.crt', (await createTestAuthority()).ca);
      assert.match(await fails('has_disk', ['disk-none'], requestWith(server)), /certificate/u);
      const withAuthority = requestWith({ ...server, ca: access.ca });
      assert.equal(await succeeds('has_disk', ['disk-none'], withAuthority), false);
    });

    test('uses the proxy of its properties for the name that every cluster has for its API', async (t) => {
      const proxy = await startProxy(new URL(access.server).port);
      t.after(() => {
        proxy.close();
      });
      const failWith = (password: string): Promise<string> => {
        const proxies = { https_proxy: `http://user:${password}@127.0.0.1:${proxy.port}` };
        return fails('has_disk', ['disk-none'], { config: { kubernetes: {}, env: proxies } });
      };
      const way = /kubernetes\.default\.svc:443 through the proxy 127\.0\.0\.1:\d+ could not be reached/u;
      assert.match(await failWith('wrong'), way);
      // this API's certificate names only this machine: the proxy was used, and the certificate rejected
      const reached = await failWith('pass%20word');
      assert.match(reached, way);
      assert.match(reached, /ERR_TLS_CERT_ALTNAME_INVALID/u);
    });

    test('uses the next token when it was replaced during a wait', async (t) => {
      const statuses: number[] = [];
      let previous = '';
      let disk: unknown;
      const decide: ApiProxyOptions['decide'] = async ({ url }) => {
        if (!url.includes('watch=') || previous !== '') return { kind: 'pass' };
        previous = await replaceToken();
        // a running watch would request no token; Bun itself repeats a lost GET, with the previous token
        return { kind: 'answer', status: 200, body: '' };
      };
      const onAnswer: ApiProxyOptions['onAnswer'] = async ({ url }, status) => {
        statuses.push(status);
        if (url.includes('watch=')) await letGo(disk);
      };
      const proxy = await startApiProxy({ access, decide, onAnswer });
      t.after(() => proxy.close());
      await mount('ca.crt', proxy.ca);
      const request = { config: { kubernetes: { server: proxy.server } } };
      disk = await succeeds('create_disk', [64, {}], request);
      world.node.keepsClaims = true;
      await succeeds('delete_disk', [disk], request);
      assert.ok(previous !== '' && !statuses.includes(401), statuses.join());
      const { server, ca } = access;
      const outdated = { config: { kubernetes: { server, ca, token: previous } } };
      assert.match(await fails('has_disk', ['disk-none'], outdated), /401/u);
    });
  });
}

/** Replaces the token and returns the previous one, which is not valid any more. */
async function replaceToken(): Promise<string> {
  const previous = await readFile(join(mounted, 'token'), 'utf8');
  await world.api.delete({ resource: serviceAccounts, namespace, name: account });
  await world.api.create(serviceAccounts, { metadata: { namespace, name: account } });
  await mount('token', await tokenOf(access, namespace));
  return previous;
}

/** Ends the protection of that disk's claim. */
async function letGo(disk: unknown): Promise<void> {
  world.node.keepsClaims = false;
  const reference = { resource: persistentVolumeClaims, namespace: 'east', name: String(disk) };
  await world.api.patch(reference, { metadata: { annotations: { 'test/looked-at': 'again' } } });
}
