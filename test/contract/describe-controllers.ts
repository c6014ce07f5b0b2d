import { describe, test } from 'node:test';
import { makeServedSubject } from './embedded-subject.ts';
import { makeRealSubject, realKubeconfig } from './real-subject.ts';
import type { Subject } from './subject.ts';

/**
 * Runs a contract about controllers: against a real cluster if one is configured, else against the embedded
 * cluster.
 */
export function describeControllers(
  name: string,
  contract: (makeSubject: () => Promise<Subject>) => void,
): void {
  if (realKubeconfig === undefined) {
    describe(`${name} in the embedded cluster`, () => contract(() => makeServedSubject()));
    test(`${name} in a real cluster`, { skip: 'needs BOSH_KUBERNETES_TEST_KUBECONFIG' });
  } else {
    describe(`${name} in a real cluster`, () => contract(makeRealSubject));
  }
}
