import { test } from 'node:test';
import { describeNodes } from './describe-nodes.ts';
import { makeLocalSubject, makeServedSubject } from './embedded-subject.ts';
import { makeRealSubject, realKubeconfig } from './real-subject.ts';

if (realKubeconfig === undefined) {
  describeNodes('LocalApi', () => makeLocalSubject());
  describeNodes('RestApi over the HTTPS server', () => makeServedSubject());
  test('nodes of a real cluster', { skip: 'needs BOSH_KUBERNETES_TEST_KUBECONFIG' });
} else {
  describeNodes('RestApi to a real cluster', makeRealSubject);
}
