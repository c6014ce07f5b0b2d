import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { namespaces } from '../../src/kubernetes/resources.ts';
import { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import type { WireSubject } from './subject.ts';

/**
 * The kubeconfig of the real cluster on which a suite runs instead of the embedded one, if it is set.
 * KUBECONFIG is not used, because a suite that creates and deletes namespaces must be enabled explicitly.
 */
export const realKubeconfig = process.env['BOSH_KUBERNETES_TEST_KUBECONFIG'];

/** Returns that cluster, with a new namespace for the subject. */
export async function makeRealSubject(): Promise<WireSubject> {
  if (realKubeconfig === undefined) throw new Error('BOSH_KUBERNETES_TEST_KUBECONFIG is not set');
  const transport = await openTransport(await loadAccess(readFileSync(realKubeconfig, 'utf8')));
  const api = new RestApi({ transport });
  const namespace = `bosh-contract-${randomBytes(4).toString('hex')}`;
  await api.create(namespaces, { metadata: { name: namespace } });
  return {
    ...{ api, namespace, wire: transport },
    end: async () => {
      await api.delete({ resource: namespaces, name: namespace });
      transport.close();
    },
  };
}
