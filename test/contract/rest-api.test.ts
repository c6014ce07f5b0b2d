import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLocalApi } from '../../embedded-cluster/api-server/open-local-api.ts';
import { startApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import { FakeConsole } from '../../embedded-cluster/api-server/testing/fake-console.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { describeKubernetesApi, describeWire } from './kubernetes-api-contract.ts';
import type { WireSubject } from './subject.ts';

async function makeSubject(): Promise<WireSubject> {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-contract-'));
  const local = await openLocalApi({ directory });
  const errors: unknown[] = [];
  const server = await startApiServer({
    api: local,
    console: new FakeConsole(),
    directory,
    onError: (error) => errors.push(error),
  });
  const transport = await openTransport(await loadAccess(readFileSync(server.kubeconfig, 'utf8')));
  return {
    api: new RestApi({ transport }),
    wire: transport,
    namespace: 'bosh',
    end: async () => {
      transport.close();
      await server.close();
      await local.close();
      rmSync(directory, { recursive: true });
      assert.deepEqual(errors, []);
    },
  };
}

describeKubernetesApi('RestApi over the HTTPS server', makeSubject);
describeWire('the HTTPS server', makeSubject);
