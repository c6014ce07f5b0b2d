import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { startSimulatedCluster } from '../../src/cluster/testing/simulated-cluster.ts';
import { loadAccess } from '../../src/kubernetes/load-access.ts';
import { openTransport } from '../../src/kubernetes/open-transport.ts';
import { namespaces } from '../../src/kubernetes/resources.ts';
import { RestApi } from '../../src/kubernetes/rest-api.ts';
import { volumeContract } from './volume-contract.ts';

const simulated = { nodes: [{ name: 'contract-a' }] };

describe('volumes of LocalApi', () =>
  volumeContract(async () => {
    const cluster = await startSimulatedCluster(simulated);
    return {
      api: cluster.api,
      namespace: 'bosh',
      storageClassName: 'local',
      end: async () => {
        await cluster.stop();
        assert.deepEqual(cluster.errors, []);
      },
    };
  }));

describe('volumes of RestApi over the HTTPS server', () =>
  volumeContract(async () => {
    const cluster = await startSimulatedCluster(simulated);
    const transport = await openTransport(await loadAccess(cluster.kubeconfig));
    return {
      api: new RestApi({ transport }),
      namespace: 'bosh',
      storageClassName: 'local',
      end: async () => {
        transport.close();
        await cluster.stop();
        assert.deepEqual(cluster.errors, []);
      },
    };
  }));

const kubeconfig = process.env['BOSH_KUBERNETES_TEST_KUBECONFIG'];
const storageClassName = process.env['BOSH_KUBERNETES_TEST_STORAGE_CLASS'];

if (kubeconfig === undefined || storageClassName === undefined) {
  const skip = 'needs BOSH_KUBERNETES_TEST_KUBECONFIG and BOSH_KUBERNETES_TEST_STORAGE_CLASS';
  test('volumes of a real cluster', { skip });
} else {
  describe('volumes of a real cluster', () =>
    volumeContract(async () => {
      const transport = await openTransport(await loadAccess(readFileSync(kubeconfig, 'utf8')));
      const api = new RestApi({ transport });
      const namespace = `bosh-contract-${randomBytes(4).toString('hex')}`;
      await api.create(namespaces, { metadata: { name: namespace } });
      return {
        ...{ api, namespace, storageClassName },
        end: async () => {
          await api.delete({ resource: namespaces, name: namespace });
          transport.close();
        },
      };
    }));
}
