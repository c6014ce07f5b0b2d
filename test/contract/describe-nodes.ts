import { describe } from 'node:test';
import { lostNodeContract } from './lost-node-contract.ts';
import { schedulingContract } from './scheduling-contract.ts';
import type { Subject } from './subject.ts';

/**
 * What a cluster's controllers do about nodes and the placing of pods. The suite makes Node objects that no kubelet
 * stands behind, so it needs the right to do that, and works on any cluster whose cloud does not remove them.
 */
export function describeNodes(name: string, makeSubject: () => Promise<Subject>): void {
  describe(name, () => {
    describe('scheduling', () => schedulingContract(makeSubject));
    describe('lost nodes', () => lostNodeContract(makeSubject));
  });
}
