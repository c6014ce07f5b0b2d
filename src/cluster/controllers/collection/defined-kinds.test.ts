import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { KubernetesObject, OwnerReference } from '../../../kubernetes/object.ts';
import {
  customResourceDefinitions,
  namespaces,
  networkAttachmentDefinitions,
  secrets,
  volumeSnapshots,
} from '../../../kubernetes/resources.ts';
import { networkAttachmentDefinition } from '../../api/custom/definitions/network-attachments.ts';
import { at, settled, startCluster } from '../testing/cluster-fixture.ts';

const ownerOf = ({ metadata }: KubernetesObject, kind: string, apiVersion = 'v1'): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
});

suite('kinds that definitions add', () => {
  test('own and are owned, whenever they were defined', async (t) => {
    const cluster = await startCluster(t);
    const { api } = cluster;
    await api.create(customResourceDefinitions, networkAttachmentDefinition);
    const secret = await api.create(secrets, { metadata: { namespace: 'bosh', name: 'root' } });
    const network = await api.create(networkAttachmentDefinitions, {
      metadata: { namespace: 'bosh', name: 'net', ownerReferences: [ownerOf(secret, 'Secret')] },
    });
    const owner = ownerOf(network, 'NetworkAttachmentDefinition', 'k8s.cni.cncf.io/v1');
    await api.create(secrets, { metadata: { namespace: 'bosh', name: 'leaf', ownerReferences: [owner] } });
    await settled();
    assert.notEqual(await cluster.find(at(secrets, 'leaf')), undefined);

    await api.delete(at(secrets, 'root'));
    await cluster.until(
      'the leaf to go',
      async () => (await cluster.find(at(secrets, 'leaf'))) === undefined,
    );
    assert.equal(await cluster.find(at(networkAttachmentDefinitions, 'net')), undefined);
  });

  test('go with their namespace', async (t) => {
    const cluster = await startCluster(t);
    const { api } = cluster;
    const metadata = { namespace: 'passing', name: 'snapshot' };
    await api.create(namespaces, { metadata: { name: 'passing' } });
    const source = { persistentVolumeClaimName: 'claim' };
    await api.create<KubernetesObject & { spec: object }>(volumeSnapshots, { metadata, spec: { source } });
    await api.delete({ resource: namespaces, name: 'passing' });
    await cluster.until(
      'the namespace to go',
      async () => (await cluster.find({ resource: namespaces, name: 'passing' })) === undefined,
    );
  });

  test('are forgotten with their definition, and known again when it comes back', async (t) => {
    const cluster = await startCluster(t);
    const { api } = cluster;
    const reference = {
      resource: customResourceDefinitions,
      name: networkAttachmentDefinition.metadata.name ?? '',
    };
    for (const name of ['first', 'second']) {
      await api.create(customResourceDefinitions, networkAttachmentDefinition);
      const secret = await api.create(secrets, { metadata: { namespace: 'bosh', name } });
      const ownerReferences = [ownerOf(secret, 'Secret')];
      await api.create(networkAttachmentDefinitions, {
        metadata: { namespace: 'bosh', name, ownerReferences },
      });
      await api.delete(at(secrets, name));
      await cluster.until(
        `${name} to go`,
        async () => (await cluster.find(at(networkAttachmentDefinitions, name))) === undefined,
      );
      await api.delete(reference);
      await cluster.until('the definition to go', async () => (await cluster.find(reference)) === undefined);
    }
  });
});
