import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Test files at or below a path, relative to the checkout. */
export function testsBelow(checkout: string, path: string): string[] {
  if (statSync(join(checkout, path)).isFile()) return path.endsWith('.test.ts') ? [path] : [];
  return readdirSync(join(checkout, path))
    .toSorted()
    .flatMap((name) => testsBelow(checkout, join(path, name)));
}

/** Of the API's contract, what is about a server of ours and has nothing to ask a real cluster. */
const ofEmbedded = ['crash', 'local-api', 'rest-api'];

/** What runs against a real cluster when nothing is named. */
export const suites = ['test/cluster', 'test/contract', 'test/conformance'];

/** Of the test files at or below a path those that a real cluster is asked by. */
export function suitesBelow(checkout: string, path: string): string[] {
  return testsBelow(checkout, path).filter(
    (file) => !file.startsWith('test/contract/') || !ofEmbedded.includes(basename(file, '.test.ts')),
  );
}

/** They trouble a node or its network, or count what is on it, so nothing may run beside them. */
const alone = [
  'agent',
  'leftovers',
  'loss',
  'lost-node',
  'lost-volumes',
  'nodes',
  'restarts',
  'static-ip',
  'up',
  'vm-gone',
];

/** Files that run beside each other. */
export interface SuiteGroup {
  readonly files: readonly string[];
  readonly concurrency: number;
}

/**
 * The groups in which files run, one group after the other: first those that only wait for the cluster, several at once;
 * then, one by one, those that trouble nodes, and then the contract and the conformance suite.
 */
export function groupsOf(files: readonly string[]): SuiteGroup[] {
  const isOfCluster = (file: string): boolean => file.startsWith('test/cluster/');
  const isAlone = (file: string): boolean => alone.includes(basename(file, '.test.ts'));
  const groups = [
    { files: files.filter((file) => isOfCluster(file) && !isAlone(file)), concurrency: 3 },
    { files: files.filter((file) => isOfCluster(file) && isAlone(file)), concurrency: 1 },
    { files: files.filter((file) => !isOfCluster(file)), concurrency: 1 },
  ];
  return groups.filter((group) => group.files.length > 0);
}
