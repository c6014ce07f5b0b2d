import { describe, test } from 'node:test';
import { makeServedSubject } from './embedded-subject.ts';
import { makeRealSubject, realKubeconfig } from './real-subject.ts';
import type { Subject } from './subject.ts';

/** A contract about what controllers do: of a real cluster's where one is given, else of the embedded cluster's. */
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
