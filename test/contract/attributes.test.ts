import { describe, test } from 'node:test';
import { localProvisioner } from '../../embedded-cluster/api-server/bootstrap.ts';
import { volumeAttributesClasses } from '../../src/kubernetes/resources.ts';
import type { VolumeAttributesClass } from '../../src/kubernetes/types/storage.ts';
import { attributesContract, type AttributesSubject } from './attributes-contract.ts';
import { makeLocalSubject, makeServedSubject } from './embedded-subject.ts';
import { makeRealSubject, realKubeconfig } from './real-subject.ts';
import type { Subject } from './subject.ts';

const nodes = [{ name: 'contract-a' }];
const storageClassName = process.env['BOSH_KUBERNETES_TEST_STORAGE_CLASS'];
const [possible, impossible] = (process.env['BOSH_KUBERNETES_TEST_ATTRIBUTES_CLASSES'] ?? '').split(',');

async function withClasses(subject: Subject): Promise<AttributesSubject> {
  const attributes = { possible: 'closed', impossible: 'fast' };
  const make = (name: string, parameters: Record<string, string>): Promise<VolumeAttributesClass> =>
    subject.api.create<VolumeAttributesClass>(volumeAttributesClasses, {
      ...{ metadata: { name }, driverName: localProvisioner, parameters },
    });
  await make(attributes.possible, { permissions: '0700' });
  await make(attributes.impossible, { iops: '3000' });
  return { ...subject, storageClassName: 'local', attributes };
}

if (realKubeconfig === undefined) {
  describe('attributes of volumes of LocalApi', () =>
    attributesContract(async () => withClasses(await makeLocalSubject(nodes))));
  describe('attributes of volumes of RestApi over the HTTPS server', () =>
    attributesContract(async () => withClasses(await makeServedSubject(nodes))));
}
if (realKubeconfig === undefined || storageClassName === undefined || impossible === undefined) {
  const skip =
    'needs BOSH_KUBERNETES_TEST_KUBECONFIG, BOSH_KUBERNETES_TEST_STORAGE_CLASS and BOSH_KUBERNETES_TEST_ATTRIBUTES_CLASSES';
  test('attributes of volumes of a real cluster', { skip });
} else {
  const attributes = { possible: possible ?? '', impossible };
  describe('attributes of volumes of a real cluster', () =>
    attributesContract(async () => ({ ...(await makeRealSubject()), storageClassName, attributes })));
}
