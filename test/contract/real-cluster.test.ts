import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { namespaces } from '../../src/kubernetes/resources.ts';
import { loadAccess } from '../../src/kubernetes/load-access.ts';
import { openTransport } from '../../src/kubernetes/open-transport.ts';
import { RestApi } from '../../src/kubernetes/rest-api.ts';
import { describeKubernetesApi, describeWire } from './kubernetes-api-contract.ts';
import type { WireSubject } from './subject.ts';

// not KUBECONFIG itself: a suite that makes and deletes namespaces must be asked for by name
const kubeconfig = process.env['BOSH_KUBERNETES_TEST_KUBECONFIG'];

if (kubeconfig === undefined) {
  test('the contract on a real cluster', { skip: 'needs BOSH_KUBERNETES_TEST_KUBECONFIG' });
} else {
  const makeSubject = async (): Promise<WireSubject> => {
    const transport = await openTransport(await loadAccess(readFileSync(kubeconfig, 'utf8')));
    const api = new RestApi({ transport });
    const namespace = `bosh-contract-${randomBytes(4).toString('hex')}`;
    await api.create(namespaces, { metadata: { name: namespace } });
    return {
      api,
      wire: transport,
      namespace,
      end: async () => {
        await api.delete({ resource: namespaces, name: namespace });
        transport.close();
      },
    };
  };
  describeKubernetesApi('RestApi to a real cluster', makeSubject);
  describeWire('a real cluster', makeSubject);
}
