import { describe } from 'node:test';
import { lostNodeContract } from './lost-node-contract.ts';
import { schedulingContract } from './scheduling-contract.ts';
import type { Subject } from './subject.ts';

/**
 * Runs the contracts about controllers for nodes and scheduling. The suite creates Node objects without a
 * kubelet, so it needs the right to do that. It works on any cluster whose cloud provider does not remove
 * such nodes.
 */
export function describeNodes(name: string, makeSubject: () => Promise<Subject>): void {
  describe(name, () => {
    describe('the scheduler', () => schedulingContract(makeSubject));
    describe('the controllers for lost nodes', () => lostNodeContract(makeSubject));
  });
}
