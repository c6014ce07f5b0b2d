import { describe, test } from 'node:test';
import { makeLocalSubject, makeServedSubject } from './embedded-subject.ts';
import { makeRealSubject, realKubeconfig } from './real-subject.ts';
import { volumeContract } from './volume-contract.ts';

const nodes = [{ name: 'contract-a' }];
const storageClassName = process.env['BOSH_KUBERNETES_TEST_STORAGE_CLASS'];

if (realKubeconfig === undefined) {
  const local = { storageClassName: 'local' };
  describe('volumes of LocalApi', () =>
    volumeContract(async () => ({ ...(await makeLocalSubject(nodes)), ...local })));
  describe('volumes of RestApi over the HTTPS server', () =>
    volumeContract(async () => ({ ...(await makeServedSubject(nodes)), ...local })));
}
if (realKubeconfig === undefined || storageClassName === undefined) {
  const skip = 'needs BOSH_KUBERNETES_TEST_KUBECONFIG and BOSH_KUBERNETES_TEST_STORAGE_CLASS';
  test('volumes of a real cluster', { skip });
} else {
  describe('volumes of a real cluster', () =>
    volumeContract(async () => ({ ...(await makeRealSubject()), storageClassName })));
}
