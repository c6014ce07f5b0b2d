import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { LocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import type { CpiError } from '../../src/cpi/protocol/protocol.ts';
import { startStorage } from '../../src/cpi/testing/storage-cloud.ts';
import {
  createVmArguments,
  createVmRequest,
  namesLeft,
  namespace,
  vmCidOfTest,
} from '../../src/cpi/testing/test-cloud.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { namespaces, persistentVolumeClaims, volumeSnapshots } from '../../src/kubernetes/resources.ts';
import { startProxy } from '../../src/kubernetes/testing/proxy-server.ts';
import type { PersistentVolumeClaim } from '../../src/kubernetes/types/storage.ts';
import { applyRoles, tokenOf } from '../conformance/roles.ts';
import { until } from '../support/until.ts';
import { call, isMissing } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

let world: CpiWorld;
let server: { url: string; ca: string; certificate: string; key: string };

before(async () => {
  world = await CpiWorld.start();
  await world.api.create<KubernetesObject>(namespaces, { metadata: { name: 'east' } });
  await applyRoles(world.api, { namespace });
  const { clusters, users } = world.settings.kubernetes['kubeconfig'] as Lists;
  const text = (data = ''): string => Buffer.from(data, 'base64').toString();
  server = {
    url: clusters[0]?.cluster['server'] ?? '',
    ca: text(clusters[0]?.cluster['certificate-authority-data']),
    certificate: text(users[0]?.user['client-certificate-data']),
    key: text(users[0]?.user['client-key-data']),
  };
});
after(() => world.stop());

interface Lists {
  readonly clusters: readonly { cluster: Record<string, string> }[];
  readonly users: readonly { user: Record<string, string> }[];
}

/** The ways to access a cluster, with real processes. */
for (const name of ['executable', 'bundle'] as const) {
  describe(`the CPI's ${name}`, { skip: isMissing(name) }, () => {
    const ask = async (
      method: string,
      args: unknown[],
      config: object,
    ): Promise<{ result: unknown; error: CpiError | null }> => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      const path = join(world.directory, `${name}.json`);
      await writeFile(path, JSON.stringify(config));
      return call(artefact, { method, arguments: args, context: {} }, { config: path });
    };

    test('refuses certificates and keys that it cannot use, in the properties and in a kubeconfig', async () => {
      const { url, ca, certificate, key } = server;
      const encrypted = createPrivateKey(key).export({
        ...({ type: 'pkcs8', format: 'pem' } as const),
        ...{ cipher: 'aes-256-cbc', passphrase: 'words' },
      });
      const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const another = other.export({ type: 'pkcs8', format: 'pem' }).toString();
      const cut = (text: string): string => text.trim().split('\n').toSpliced(2, 1).join('\n');
      const good = { ca, certificate, key };
      for (const [parts, expected] of [
        [
          { key: another },
          /the client certificate is of another key; give client-certificate and client-key/u,
        ],
        [{ key: encrypted.toString() }, /key(?:-data)? is encrypted.*openssl pkey/u],
        [{ key: cut(key) }, /key(?:-data)? is cut off or damaged/u],
        [{ certificate: cut(certificate) }, /certificate(?:-data)? is cut off or damaged/u],
        [{ certificate: 'none' }, /certificate(?:-data)? does not hold PEM/u],
        [{ ca: cut(ca) }, /(?:ca|certificate-authority-data) is cut off or damaged/u],
        [{ ca: key }, /(?:ca|certificate-authority-data) holds PEM, and no certificate/u],
      ] as const) {
        const given = { ...good, ...parts };
        const base64 = (text: string): string => Buffer.from(text).toString('base64');
        const properties = {
          ...{ server: url, ca: given.ca, client_certificate: given.certificate, client_key: given.key },
          namespace,
        };
        const cluster = { server: url, 'certificate-authority-data': base64(given.ca) };
        const user = {
          'client-certificate-data': base64(given.certificate),
          'client-key-data': base64(given.key),
        };
        const kubeconfig = {
          ...{ 'current-context': 'c', contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }] },
          ...{ clusters: [{ name: 'c', cluster }], users: [{ name: 'u', user }] },
        };
        for (const kubernetes of [properties, { kubeconfig, namespace }]) {
          const { error } = await ask('has_disk', ['disk-none'], { kubernetes });
          assert.match(error?.message ?? '', expected);
          assert.match(error?.message ?? '', /\[INVALID_CONFIG\]$/u);
        }
      }
    });

    test('knows a server with a client certificate', async () => {
      const { url, ca, certificate, key } = server;
      const kubernetes = { server: url, ca, client_certificate: certificate, client_key: key, namespace };
      const { error } = await ask('has_disk', ['disk-none'], { kubernetes });
      assert.equal(error, null);
    });

    test('authenticates with a token, and names an invalid token as the reason', async () => {
      const { url, ca } = server;
      const token = await tokenOf(await loadAccess(world.settings.kubernetes['kubeconfig']), namespace);
      const askWith = (given: string): ReturnType<typeof ask> =>
        ask('has_disk', ['disk-none'], { kubernetes: { server: url, ca, token: given, namespace } });
      assert.deepEqual(await askWith(token), { result: false, error: null, log: '' });
      const refused = (await askWith(`${token}x`)).error?.message ?? '';
      assert.match(refused, /401.*renew the token/u);
      assert.ok(!refused.includes(token));
    });

    test('uses the proxy of its properties, which a director removes from the environment', async (t) => {
      const proxy = await startProxy(new URL(server.url).port);
      t.after(() => {
        proxy.close();
      });
      const { url, ca, certificate, key } = server;
      const base64 = (text: string): string => Buffer.from(text).toString('base64');
      const behind = `https://behind-the-proxy.invalid:${new URL(url).port}`;
      const kubeconfig = {
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace } }],
        clusters: [
          {
            name: 'c',
            cluster: {
              server: behind,
              'tls-server-name': 'localhost',
              'certificate-authority-data': base64(ca),
            },
          },
        ],
        users: [
          {
            name: 'u',
            user: { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) },
          },
        ],
      };
      const askWith = (env: object): ReturnType<typeof ask> =>
        ask('has_disk', ['disk-none'], { kubernetes: { kubeconfig }, env });
      const address = `127.0.0.1:${proxy.port}`;
      assert.equal((await askWith({ https_proxy: `http://user:pass%20word@${address}` })).error, null);
      const refused =
        (await askWith({ https_proxy: `http://user:s3cret-word@${address}` })).error?.message ?? '';
      assert.match(
        refused,
        new RegExp(`through the proxy ${address.replaceAll('.', '\\.')} could not be reached`, 'u'),
      );
      assert.doesNotMatch(refused, /s3cret-word/u);
      const direct = await askWith({ https_proxy: `http://${address}`, no_proxy: '.invalid' });
      assert.match(direct.error?.message ?? '', /its name cannot be resolved/u);
    });

    test('runs an exec plugin with the proxies of its properties, and reports the error of a failed one', async () => {
      const plugin = join(world.directory, 'plugin');
      const status = { clientCertificateData: server.certificate, clientKeyData: server.key };
      const apiVersion = 'client.authentication.k8s.io/v1';
      await writeFile(`${plugin}.json`, JSON.stringify({ apiVersion, kind: 'ExecCredential', status }));
      const proxies = {
        http_proxy: 'http://plain.invalid',
        https_proxy: 'http://tls.invalid',
        no_proxy: '.x',
      };
      const given = '$RIGHT $http_proxy $HTTPS_PROXY $no_proxy';
      const right = `yes ${Object.values(proxies).join(' ')}`;
      await writeFile(
        plugin,
        `#!/bin/sh\n[ "${given}" = '${right}' ] && cat "$0.json" || { echo not yet >&2; exit 4; }\n`,
      );
      await chmod(plugin, 0o755);
      const outcome = (word: string): ReturnType<typeof ask> =>
        ask('has_disk', ['disk-none'], {
          env: proxies,
          kubernetes: {
            kubeconfig: {
              'current-context': 'c',
              contexts: [{ name: 'c', context: { cluster: 'c', user: 'u', namespace } }],
              clusters: [
                {
                  name: 'c',
                  cluster: {
                    server: server.url,
                    'certificate-authority-data': Buffer.from(server.ca).toString('base64'),
                  },
                },
              ],
              users: [
                {
                  name: 'u',
                  user: { exec: { apiVersion, command: plugin, env: [{ name: 'RIGHT', value: word }] } },
                },
              ],
            },
          },
        });
      assert.equal((await outcome('yes')).error, null);
      assert.match(
        (await outcome('no')).error?.message ?? '',
        /exit code 4; it said: not yet; run it by hand/u,
      );
    });

    test('works in the context that cloud_properties and cids name', async () => {
      const config = { ...world.settings, contexts: { 'a:east': { kubernetes: { namespace: 'east' } } } };
      const { result: disk, error } = await ask('create_disk', [64, { context: 'a:east' }], config);
      assert.equal(error, null);
      assert.match(String(disk), /^a:east:disk-[0-9a-f-]{36}$/u);
      const { items } = await world.api.list(persistentVolumeClaims, { namespace: 'east' });
      assert.deepEqual(
        items.map(({ metadata }) => `a:east:${metadata.name}`),
        [disk],
      );
      assert.equal((await ask('has_disk', [disk], config)).result, true);
      assert.equal((await ask('has_disk', [String(disk).replace('a:east:', '')], config)).result, false);
      assert.equal((await ask('delete_disk', [disk], config)).error, null);
      assert.equal((await ask('has_disk', [disk], config)).result, false);
      const attached = await ask('attach_disk', ['vm-1', disk], config);
      assert.match(attached.error?.message ?? '', /'disk-[^']*' is in context 'a:east'/u);
      const unknown = await ask('has_disk', ['west:disk-1'], config);
      assert.match(unknown.error?.message ?? '', /there is no context "west"; name one of its contexts: /u);
    });

    test('the cids of a VM in a context, its disks and its snapshot name the context', async (t) => {
      const there = await CpiWorld.start(world.artefacts);
      const storage = await startStorage(there.api);
      t.after(() => storage.stop().then(() => there.stop()));
      const { api, settings } = there;
      await api.create<KubernetesObject>(namespaces, { metadata: { name: 'east' } });
      const config = { ...settings, contexts: { 'a:east': { kubernetes: { namespace: 'east' } } } };
      const done = async (method: string, ...args: unknown[]): Promise<unknown> => {
        const { result, error } = await ask(method, args, config);
        assert.equal(error, null, `${method}: ${error?.message}`);
        return result;
      };
      const vm = `a:east:${vmCidOfTest}`;
      const request = createVmRequest({ properties: { context: 'a:east' } });
      assert.deepEqual(await done('create_vm', ...createVmArguments(request)), [vm, request.networks]);
      const disk = String(await done('create_disk', 64, { storage_class: 'now' }, vm));
      const claim = disk.replace('a:east:', '');
      assert.match(claim, /^disk-/u);
      assert.equal(await done('attach_disk', vm, disk), `/warden-cpi-dev/disks/${claim}/store`);
      assert.deepEqual(await done('get_disks', vm), [disk]);
      assert.deepEqual(await namesLeft(api), [], 'nothing is in the namespace of no context');
      const made = [`pods attach-${claim}`, `pods ${vmCidOfTest}`, `secrets ${vmCidOfTest}`];
      assert.deepEqual(await namesLeft(api, 'east'), [...made, `persistentvolumeclaims ${claim}`]);

      await untilBound(api, 'east');
      const snapshot = await done('snapshot_disk', disk, {});
      assert.deepEqual([snapshot], await snapshotsIn(api, 'a:east'));
      await done('detach_disk', vm, disk);
      const copy = await done('update_disk', disk, 64, { storage_class: 'other' });
      assert.match(String(copy), /^a:east:disk-/u);
      assert.notEqual(copy, disk);
      assert.equal(await done('has_disk', copy), true);
      for (const [method, cid] of [
        ['delete_snapshot', snapshot],
        ['delete_vm', vm],
        ['delete_disk', copy],
      ] as const)
        assert.equal(await done(method, cid), null);
      assert.equal(await done('has_vm', vm), false);
      assert.deepEqual([...(await namesLeft(api, 'east')), ...(await snapshotsIn(api, 'a:east'))], []);
    });

    test('works in two clusters, each a context of one kubeconfig', async (t) => {
      const other = await CpiWorld.start(world.artefacts);
      t.after(() => other.stop());
      const listsOf = ({ settings }: CpiWorld): Lists => settings.kubernetes['kubeconfig'] as Lists;
      const named = (entries: readonly object[], each: string): object => ({ ...entries[0], name: each });
      const [one, two] = [listsOf(world), listsOf(other)];
      const kubeconfig = {
        'current-context': 'one',
        contexts: ['one', 'two'].map((each) => ({
          name: each,
          context: { cluster: each, user: each, namespace },
        })),
        clusters: [named(one.clusters, 'one'), named(two.clusters, 'two')],
        users: [named(one.users, 'one'), named(two.users, 'two')],
      };
      const config = { kubernetes: { kubeconfig, namespace: 'not-this-one' } };
      const { result: disk } = await ask('create_disk', [64, { context: 'two' }], config);
      const claims = async ({ api }: CpiWorld): Promise<unknown[]> =>
        (await api.list(persistentVolumeClaims)).items.map(({ metadata }) => `two:${metadata.name}`);
      assert.deepEqual(await claims(other), [disk]);
      assert.ok(!(await claims(world)).includes(disk));
      assert.equal((await ask('has_disk', [disk], config)).result, true);
      assert.equal((await ask('has_disk', [String(disk).replace('two:', 'one:')], config)).result, false);
      assert.equal((await ask('delete_disk', [disk], config)).error, null);
      assert.deepEqual(await claims(other), []);
    });
  });
}

/** Waits until the claim is bound: a snapshot needs a volume, which the controllers make asynchronously. */
const untilBound = (api: LocalApi, podNamespace: string): Promise<unknown> =>
  until(`the claim of ${podNamespace} to be bound`, async () => {
    const { items } = await api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
      namespace: podNamespace,
    });
    return items.some(({ status }) => status?.phase === 'Bound');
  });

/** Returns all snapshots of the cluster, as cids of that context. */
const snapshotsIn = async (api: LocalApi, context: string): Promise<string[]> =>
  (await api.list(volumeSnapshots)).items.map(({ metadata }) => `${context}:${metadata.name}`);
