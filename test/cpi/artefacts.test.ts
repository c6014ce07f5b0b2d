import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { brokenImage } from '../../src/cpi/testing/fake-node.ts';
import {
  createVmArguments,
  createVmRequest,
  mbusPassword,
  namesLeft,
  namespace,
  vmCidOfTest as vmCid,
} from '../../src/cpi/testing/test-cloud.ts';
import type { CpiResponse } from '../../src/cpi/protocol/protocol.ts';
import { namespaces, persistentVolumeClaims, secrets } from '../../src/kubernetes/resources.ts';
import { type Artefact, type CallOptions, call, isMissing, runCpi } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

let world: CpiWorld;

before(async () => {
  world = await CpiWorld.start();
});
after(() => world.stop());

const info = { api_version: 3, stemcell_formats: ['docker-light', 'warden-light', 'warden-tar'] };

/** Every artefact passes the same suite: the behaviour that a caller of the process can see. */
for (const name of ['executable', 'bundle'] as const) {
  describe(`the CPI's ${name}`, { skip: isMissing(name) }, () => {
    const artefact = (): Artefact => {
      const found = world.artefacts.get(name);
      assert.ok(found !== undefined);
      return found;
    };
    const ask = (request: string | object, options?: CallOptions): Promise<CpiResponse> =>
      call(artefact(), request, options);
    const verb = async (method: string, args: unknown[], context: object = {}): Promise<unknown> => {
      const response = await ask(requestOf(method, args, context), { config: world.config });
      assert.equal(response.error, null, JSON.stringify(response.error));
      return response.result;
    };
    const refusal = async (
      method: string,
      args: unknown[],
      context: object = {},
    ): Promise<[string, string]> => {
      const { error } = await ask(requestOf(method, args, context), { config: world.config });
      assert.ok(error !== null);
      return [error.type, error.message];
    };

    test('answers a request with any layout', async () => {
      for (const request of [
        '{"method":"info","arguments":[]}',
        '{"method":"info","arguments":[],"context":{}}\n',
        '\n {"context":null,"arguments":[],"extra":{"a":1},"api_version":1,"method":"info"} \n',
        '{"method":"info"}',
      ]) {
        assert.deepEqual(await ask(request), { result: info, error: null, log: '' });
      }
    });

    test('answers input that is no request with an error that quotes nothing of it', async () => {
      for (const request of [
        '',
        'top-secret-value',
        '{"password": "top-secret-value"',
        '["top-secret-value"]',
        '{"arguments":["top-secret-value"]}',
        '{"method":"has_vm","arguments":"top-secret-value"}',
        '{"method":"has_vm","arguments":[],"context":"top-secret-value"}',
        '{"method":"has_vm","arguments":[],"api_version":"top-secret-value"}',
      ]) {
        const { error } = await ask(request);
        assert.equal(error?.type, 'Bosh::Clouds::CloudError');
        assert.doesNotMatch(JSON.stringify(error), /top-secret-value|at .*\.[jt]s/u);
      }
    });

    test('works in an empty environment', async () => {
      for (const environment of [{}, { PATH: '/usr/bin:/bin' }]) {
        const response = await ask(requestOf('has_vm', ['vm-none']), { config: world.config, environment });
        assert.deepEqual(response, { result: false, error: null, log: '' });
      }
    });

    test('reads no file of the working directory', async () => {
      const directory = join(world.directory, `hostile-${name}`);
      await mkdir(directory);
      const trace = join(directory, 'trace');
      await writeFile(
        join(directory, 'preload.js'),
        `require('fs').writeFileSync(${JSON.stringify(trace)}, '')`,
      );
      await writeFile(join(directory, 'bunfig.toml'), 'preload = ["./preload.js"]\n');
      await writeFile(
        join(directory, '.env'),
        'NODE_OPTIONS=--require=./preload.js\nHTTPS_PROXY=http://127.0.0.1:1\n',
      );
      await chmod(directory, 0o777);
      const response = await ask(requestOf('has_vm', ['vm-none']), { config: world.config, directory });
      assert.equal(response.result, false);
      assert.equal(existsSync(trace), false);
    });

    test("create-env's line of calls, and back", async () => {
      const request = createVmRequest({ env: { bosh: { group: 'g' } } });
      assert.deepEqual(await verb('create_vm', createVmArguments(request)), [vmCid, request.networks]);
      assert.equal(await verb('has_vm', [vmCid]), true);
      assert.equal(await verb('set_vm_metadata', [vmCid, { name: 'hello/0', director: 'bosh-init' }]), null);
      const disk = await verb('create_disk', [64, { storage_class: 'local' }, vmCid]);
      assert.equal(await verb('attach_disk', [vmCid, disk]), `/warden-cpi-dev/disks/${String(disk)}/store`);
      assert.equal(await verb('set_disk_metadata', [disk, { director: 'bosh-init' }]), null);
      assert.deepEqual(await verb('get_disks', [vmCid]), [disk]);
      assert.equal(await verb('has_disk', [disk]), true);
      world.node.busyDisks.add(String(disk));
      assert.match((await refusal('detach_disk', [vmCid, disk]))[1], /was in use for 1 s/u);
      world.node.busyDisks.clear();
      assert.equal(await verb('detach_disk', [vmCid, disk]), null);
      assert.equal(await verb('detach_disk', [vmCid, disk]), null);
      assert.equal(await verb('attach_disk', [vmCid, disk]), `/warden-cpi-dev/disks/${String(disk)}/store`);
      assert.equal(await verb('delete_vm', [vmCid]), null);
      assert.equal(await verb('delete_vm', [vmCid]), null);
      assert.equal(await verb('has_vm', [vmCid]), false);
      assert.equal(await verb('delete_disk', [disk]), null);
      assert.equal(await verb('delete_disk', [disk]), null);
      assert.equal(await verb('has_disk', [disk]), false);
      assert.deepEqual(await namesLeft(world.api), []);
    });

    test('the next call continues a call that was killed', async () => {
      world.node.unschedulable = 'no room yet';
      const request = JSON.stringify(requestOf('create_vm', createVmArguments()));
      const outcome = await runCpi(artefact(), request, {
        config: world.config,
        onStart: (child) => void untilSecret().then(() => child.kill('SIGTERM')),
      });
      assert.equal(outcome.stdout, '');
      await world.node.makeRoom();
      await verb('create_vm', createVmArguments());
      assert.deepEqual(await namesLeft(world.api), [`pods ${vmCid}`, `secrets ${vmCid}`]);
      await verb('delete_vm', [vmCid]);
    });

    test('no error contains a secret', async () => {
      const env = {
        bosh: { mbus: { cert: { private_key: 'very-private-key' } }, password: 'crypt-password' },
      };
      const wrongToken = { name: 'u', user: { token: 'wrong-token-value' } };
      const kubeconfig = { ...Object(world.settings.kubernetes['kubeconfig']), users: [wrongToken] };
      const contexts: object[] = [
        {},
        { kubernetes: { kubeconfig: 'token: wrong-token-value\n\t{' } },
        { kubernetes: { kubeconfig } },
        { kubernetes: { kubeconfig: { ...Object(kubeconfig), 'current-context': 'wrong-token-value' } } },
        { agent: { mbus: { url: 'wrong-token-value' } } },
        { agent: { mbus: 'wrong-token-value', surprise: 'wrong-token-value' } },
      ];
      for (const context of contexts) {
        const request = requestOf(
          'create_vm',
          createVmArguments(createVmRequest({ image: brokenImage, env })),
          context,
        );
        const { stdout, stderr } = await runCpi(artefact(), JSON.stringify(request), {
          config: world.config,
        });
        assert.notEqual((JSON.parse(stdout) as CpiResponse).error, null);
        assert.doesNotMatch(
          stdout + stderr,
          /very-private-key|crypt-password|wrong-token-value|PRIVATE KEY/u,
        );
        assert.equal((stdout + stderr).includes(mbusPassword), false);
      }
      const garbage = join(world.directory, 'garbage.json');
      await writeFile(garbage, 'wrong-token-value');
      const { error } = await ask(requestOf('has_vm', ['vm-x']), { config: garbage });
      assert.match(error?.message ?? '', /not JSON/u);
      assert.doesNotMatch(error?.message ?? '', /wrong-token/u);
      assert.deepEqual(await namesLeft(world.api), []);
    });

    test("cpi-config properties in the context win; keys that are not ours are the caller's", async () => {
      const elsewhere = `other-${name}`;
      await world.api.create(namespaces, { metadata: { name: elsewhere } });
      const context = { kubernetes: { namespace: elsewhere }, director_uuid: 'd', vm: {}, datacenters: [] };
      const disk = String(await verb('create_disk', [1, {}, null], context));
      const claim = await world.api.get({
        resource: persistentVolumeClaims,
        namespace: elsewhere,
        name: disk,
      });
      assert.equal(claim.metadata.namespace, elsewhere);
      assert.equal(await verb('has_disk', [disk]), false);
      assert.equal(await verb('has_disk', [disk], { kubernetes: { disk_namespace: elsewhere } }), true);
      assert.match(
        (await refusal('has_disk', ['disk-x'], { kubernetes: { attach: 'cold' } }))[1],
        /attach must be/u,
      );
    });

    test('an API that is unreachable or rejects the credentials is an error, not an absent VM', async () => {
      const user = { name: 'u', user: { token: 'nobody-knows-it' } };
      const base = Object(world.settings.kubernetes['kubeconfig']) as { contexts: { context: object }[] };
      const contexts = [{ name: 'c', context: { ...base.contexts[0]?.context, user: 'u' } }];
      const refused = { ...base, users: [user], contexts, 'current-context': 'c' };
      assert.match(
        (await refusal('has_vm', ['vm-x'], { kubernetes: { kubeconfig: refused } }))[1],
        /Unauthorized/u,
      );
      const nowhere = {
        'current-context': 'c',
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
        users: [user],
      };
      const settings = { kubernetes: { kubeconfig: nowhere }, deadlines: { connect: 1 } };
      const [, message] = await refusal('has_vm', ['vm-x'], settings);
      assert.match(message, /127\.0\.0\.1:1 could not be reached/u);
    });

    test('a response larger than a pipe is complete', async () => {
      const dns = Array.from({ length: 20_000 }, (_, index) => `10.0.${index % 256}.1`);
      const networks = { default: { type: 'manual', ip: '127.64.0.99', dns } };
      const result = await verb('create_vm', createVmArguments(createVmRequest({ networks })));
      assert.deepEqual(result, [vmCid, networks]);
      await verb('delete_vm', [vmCid]);
    });
  });
}

function requestOf(method: string, args: unknown[], context: object = {}): object {
  return { method, arguments: args, context: { director_uuid: 'd-1', ...context }, api_version: 2 };
}

async function untilSecret(): Promise<void> {
  const signal = AbortSignal.timeout(10_000);
  for await (const event of world.api.watch(secrets, { namespace, signal })) {
    if (event.type === 'ADDED') return;
  }
}
