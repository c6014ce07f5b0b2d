import { test } from 'node:test';
import { describeKubernetesApi, describeWire } from './kubernetes-api-contract.ts';
import { makeRealSubject, realKubeconfig } from './real-subject.ts';

if (realKubeconfig === undefined) {
  test('the contract on a real cluster', { skip: 'needs BOSH_KUBERNETES_TEST_KUBECONFIG' });
} else {
  describeKubernetesApi('RestApi to a real cluster', makeRealSubject);
  describeWire('a real cluster', makeRealSubject);
}
