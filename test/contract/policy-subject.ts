import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { loadCredentials } from '../../embedded-cluster/api-server/pki/credentials.ts';
import { startApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import { FakeConsole } from '../../embedded-cluster/api-server/testing/fake-console.ts';
import { FakeProvisioner } from '../../embedded-cluster/controllers/testing/cluster-fixture.ts';
import { startControllers } from '../../embedded-cluster/controllers/start-controllers.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { namespaces, serviceAccounts } from '../../src/kubernetes/resources.ts';
import { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import type { Transport } from '../../src/kubernetes/client/transport.ts';

type Method = Parameters<Transport['request']>[0]['method'];

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  /** The header `warning`. */
  readonly warning: string | undefined;
}

/** A user of a real server, in a separate namespace of the suite. */
export interface TestUser {
  readonly api: RestApi;
  /** Sends a request to any path, also to subresources for which KubernetesApi has no verb. */
  call(method: Method, path: string, body?: unknown): Promise<Answer>;
}

/** A cluster whose policies are tested: over HTTPS, with controllers and users. */
export interface PolicySubject {
  readonly admin: TestUser;
  readonly namespace: string;
  /** True for a real cluster: its controllers and its node do the work that the tests do by hand for ours. */
  readonly isReal: boolean;
  /** Returns a client as the service account of that name, which is created if it is missing. */
  as(account: string): Promise<TestUser>;
  /** Returns a client with that token. */
  bearer(token: string): Promise<TestUser>;
  tokenOf(account: string, spec?: object): Promise<string>;
  end(): Promise<void>;
}

const realKubeconfig = process.env['BOSH_KUBERNETES_TEST_KUBECONFIG'];

/** Returns the real cluster that the environment names (see real-cluster.test.ts), else the embedded one. */
export async function makePolicySubject(): Promise<PolicySubject> {
  const { access, stop, isReal } =
    realKubeconfig === undefined
      ? await startEmbedded()
      : {
          access: await loadAccess(readFileSync(realKubeconfig, 'utf8')),
          stop: () => Promise.resolve(),
          isReal: true,
        };
  const open: Transport[] = [];
  const someone = async (ownAccess: Access): Promise<TestUser> => {
    const transport = await openTransport(ownAccess);
    open.push(transport);
    return createUser(transport);
  };
  const admin = await someone(access);
  const namespace = `bosh-policy-${randomBytes(4).toString('hex')}`;
  await admin.api.create(namespaces, { metadata: { name: namespace } });
  const { certificate: _certificate, key: _key, token: _token, tokenFile: _file, ...anonymous } = access;
  const bearer = (token: string): Promise<TestUser> => someone({ ...anonymous, token });
  const tokenOf = async (account: string, spec: object = {}): Promise<string> => {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`;
    const { status, body } = await admin.call('POST', path, { spec });
    assert.equal(status, 201, JSON.stringify(body));
    return (body['status'] as { token: string }).token;
  };
  return {
    ...{ admin, namespace, isReal, bearer, tokenOf },
    as: async (account) => {
      await admin.api
        .create(serviceAccounts, { metadata: { namespace, name: account } })
        .catch((error: unknown) => assert.match(String(error), /already exists/u));
      return bearer(await tokenOf(account));
    },
    end: async () => {
      await admin.api.delete({ resource: namespaces, name: namespace });
      for (const transport of open) transport.close();
      await stop();
    },
  };
}

function createUser(transport: Transport): TestUser {
  return {
    api: new RestApi({ transport }),
    call: async (method, path, body) => {
      const text = body === undefined ? {} : { body: JSON.stringify(body) };
      const type = method === 'PATCH' ? { contentType: 'application/merge-patch+json' } : {};
      const answer = await transport.request({ method, path, ...text, ...type });
      const parsed = JSON.parse(answer.body) as Record<string, unknown>;
      return { status: answer.status, body: parsed, warning: answer.headers['warning'] };
    },
  };
}

async function startEmbedded(): Promise<{ access: Access; stop: () => Promise<void>; isReal: false }> {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-policy-'));
  const local = await openLocalApi({ directory });
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const server = await startApiServer({ api: local, console: new FakeConsole(), directory, onError });
  const { authority } = await loadCredentials(directory, Date.now());
  const controllers = await startControllers({
    api: local,
    provisioner: new FakeProvisioner(),
    ...{ clock: systemClock, random: Math.random, rootCertificate: authority, onError },
  });
  return {
    access: await loadAccess(readFileSync(server.kubeconfig, 'utf8')),
    isReal: false,
    stop: async () => {
      await controllers.stop();
      await server.close();
      await local.close();
      rmSync(directory, { recursive: true });
      assert.deepEqual(errors, []);
    },
  };
}

/** Returns an object of a kind that has no type here. */
export const made = (
  namespace: string | undefined,
  name: string,
  fields: object,
): KubernetesObject & Record<string, unknown> => ({
  metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
  ...fields,
});
