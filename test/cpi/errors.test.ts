import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CpiError } from '../../src/cpi/protocol/protocol.ts';
import { createVmArguments, createVmRequest } from '../../src/cpi/testing/test-cloud.ts';
import { type TestServer, startTlsServer } from '../../src/kubernetes/testing/tls-server.ts';
import { call, isMissing } from './artefact.ts';
import { CpiWorld } from './cpi-world.ts';

const token = 'the-token-that-nobody-may-see';
let world: CpiWorld;
let server: TestServer;
/** The server's response to every request. */
let answer: { code: number; message: string; details?: object };

before(async () => {
  world = await CpiWorld.start();
  server = await startTlsServer(({ url }, response) => {
    // Otherwise the CPI would take it for a server that has just started, and would wait.
    if (url === '/readyz') {
      response.end('ok');
      return;
    }
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...answer };
    response.writeHead(answer.code, { 'content-type': 'application/json' }).end(JSON.stringify(status));
  });
});
after(async () => {
  await server.close();
  await world.stop();
});

/** How an error of Kubernetes reaches a director, with real processes. */
for (const name of ['executable', 'bundle'] as const) {
  describe(`the CPI's ${name}`, { skip: isMissing(name) }, () => {
    const failing = async (
      method: string,
      args: unknown[],
      kubernetes: object = {},
      deadlines: object = {},
    ): Promise<CpiError> => {
      const artefact = world.artefacts.get(name);
      assert.ok(artefact !== undefined);
      const { server: url, ca, certificate, key } = server.access;
      const access = { server: url, ca, client_certificate: certificate, client_key: key, token };
      const config = join(world.directory, `errors-${name}.json`);
      const agent = { mbus: 'https://mbus:secret-word@0.0.0.0:6868' };
      await writeFile(
        config,
        JSON.stringify({ kubernetes: { ...access, namespace: 'n', ...kubernetes }, agent, deadlines }),
      );
      const { error } = await call(artefact, { method, arguments: args, context: {} }, { config });
      assert.ok(error !== null);
      assert.doesNotMatch(error.message, /the-token|secret-word|PRIVATE KEY|a fault in/u);
      return error;
    };

    test('a missing right is named with verb and resource', async () => {
      answer = {
        code: 403,
        message: `persistentvolumeclaims is forbidden: User "${token}" cannot create resource "persistentvolumeclaims" in API group "" in the namespace "n"`,
      };
      const error = await failing('create_disk', [64, {}]);
      assert.equal(error.type, 'Bosh::Clouds::CloudError');
      assert.match(
        error.message,
        /^creating persistentvolumeclaims in namespace n failed: .*User "<redacted>".*lacks the verb "create" on "persistentvolumeclaims" \(apiGroup ""\) in namespace n: add it/u,
      );
    });

    test('a quota for disks is NoDiskSpace, one for VMs a VMCreationFailed to try again', async () => {
      const message = 'x "y" is forbidden: exceeded quota: q, requested: a=1, used: a=1, limited: a=1';
      answer = { code: 403, message, details: { kind: 'persistentvolumeclaims', name: 'y' } };
      const disk = await failing('create_disk', [64, {}]);
      assert.deepEqual([disk.type, disk.ok_to_retry], ['Bosh::Clouds::NoDiskSpace', true]);
      answer = { code: 403, message, details: { kind: 'secrets', name: 'y' } };
      const properties = { networks: { default: { type: 'dynamic' } } };
      const vm = await failing('create_vm', createVmArguments(createVmRequest(properties)));
      assert.deepEqual([vm.type, vm.ok_to_retry], ['Bosh::Clouds::VMCreationFailed', true]);
      assert.match(vm.message, /raise ResourceQuota q/u);
    });

    test('expired credentials, a busy server and a missing server have different errors', async () => {
      answer = { code: 401, message: 'Unauthorized' };
      assert.match(
        (await failing('has_vm', ['vm-1'])).message,
        /reading pods vm-1 in namespace n .*renew the token/u,
      );
      answer = { code: 503, message: 'starting' };
      assert.match((await failing('has_vm', ['vm-1'])).message, /503.*run the call again/u);
      assert.match(
        (await failing('has_vm', ['vm-1'], { server: 'https://127.0.0.1:1' }, { connect: 1 })).message,
        /at 127\.0\.0\.1:1 could not be reached: the connection was refused.* \(tried for 1 s\)/u,
      );
      const url = server.access.server.replace('127.0.0.1', 'localhost');
      assert.match((await failing('has_vm', ['vm-1'], { server: url })).message, /the TLS handshake failed/u);
    });
  });
}
