import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { startSimulatedCluster } from '../../src/cluster/testing/simulated-cluster.ts';
import { loadAccess } from '../../src/kubernetes/load-access.ts';
import { openTransport } from '../../src/kubernetes/open-transport.ts';
import { namespaces } from '../../src/kubernetes/resources.ts';
import { RestApi } from '../../src/kubernetes/rest-api.ts';
import type { Subject } from './subject.ts';

const kubeconfig = process.env['BOSH_KUBERNETES_TEST_KUBECONFIG'];

/** A contract about what controllers do: with the embedded cluster's, and with those of a real cluster where one is given. */
export function describeControllers(
  name: string,
  contract: (makeSubject: () => Promise<Subject>) => void,
): void {
  describe(`${name} in the embedded cluster`, () => contract(embedded));
  if (kubeconfig === undefined) {
    test(`${name} in a real cluster`, { skip: 'needs BOSH_KUBERNETES_TEST_KUBECONFIG' });
  } else {
    describe(`${name} in a real cluster`, () => contract(() => real(kubeconfig)));
  }
}

async function embedded(): Promise<Subject> {
  const cluster = await startSimulatedCluster({ nodes: [] });
  const transport = await openTransport(await loadAccess(cluster.kubeconfig));
  return {
    api: new RestApi({ transport }),
    namespace: 'bosh',
    end: async () => {
      transport.close();
      await cluster.stop();
      assert.deepEqual(cluster.errors, []);
    },
  };
}

async function real(file: string): Promise<Subject> {
  const transport = await openTransport(await loadAccess(readFileSync(file, 'utf8')));
  const api = new RestApi({ transport });
  const namespace = `bosh-contract-${randomBytes(4).toString('hex')}`;
  await api.create(namespaces, { metadata: { name: namespace } });
  return {
    ...{ api, namespace },
    end: async () => {
      await api.delete({ resource: namespaces, name: namespace });
      transport.close();
    },
  };
}
