import { describe } from 'node:test';
import { dryRunContract } from './dry-run-contract.ts';
import { fieldValidationContract } from './field-validation-contract.ts';
import { strategicMergeContract } from './strategic-merge-contract.ts';
import type { Subject, WireSubject } from './subject.ts';
import { changeContract } from './change-contract.ts';
import { createContract } from './create-contract.ts';
import { customResourceContract } from './custom-resource-contract.ts';
import { deleteContract } from './delete-contract.ts';
import { readContract } from './read-contract.ts';
import { storageContract } from './storage-contract.ts';
import { watchContract } from './watch-contract.ts';
import { serviceContract } from './service-contract.ts';

/**
 * The behaviour of every KubernetesApi. Each part gets its own subject. Runs against the registry in process
 * and against the HTTPS server through RestApi, and can run against any cluster.
 */
export function describeKubernetesApi(name: string, makeSubject: () => Promise<Subject>): void {
  describe(name, () => {
    describe('creates', () => createContract(makeSubject));
    describe('changes', () => changeContract(makeSubject));
    describe('reads', () => readContract(makeSubject));
    describe('deletes', () => deleteContract(makeSubject));
    describe('storage', () => storageContract(makeSubject));
    describe('services', () => serviceContract(makeSubject));
    describe('watches', () => watchContract(makeSubject));
    describe('custom resources', () => customResourceContract(makeSubject));
  });
}

/** The behaviour of a server that only HTTP shows. */
export function describeWire(name: string, makeSubject: () => Promise<WireSubject>): void {
  describe(name, () => {
    describe('field validation', () => fieldValidationContract(makeSubject));
    describe('dry runs', () => dryRunContract(makeSubject));
    describe('strategic merge patch', () => strategicMergeContract(makeSubject));
  });
}
