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

/**
 * Of the test files at or below a path those that a real cluster is asked by; `*.long.test.ts` only where
 * that is the path.
 */
export function suitesBelow(checkout: string, path: string): string[] {
  return testsBelow(checkout, path).filter(
    (file) =>
      (file === path || !file.endsWith('.long.test.ts')) &&
      (!file.startsWith('test/contract/') || !ofEmbedded.includes(basename(file, '.test.ts'))),
  );
}

/**
 * They trouble a node, its network or the API server, count what is on it, or apply manifests that another
 * suite applies, so nothing may run beside them on their cluster.
 */
export const troubling = [
  ['static-ip', 'lost-node', 'loss-agent.long', 'lost-volumes', 'drained', 'up'],
  ['power-cut', 'restarts', 'loss', 'loss.long', 'leftovers', 'nodes', 'tunnel', 'director'],
] as const;

/** They take minutes: begun late they would end when nothing else runs any more. */
export const long = [
  'foreign',
  'create-env',
  'your-cluster',
  'vm-gone',
  'stock-stemcell',
  'recreate',
  'disk-changes',
  'crash',
  'hot',
  'loss-driver.long',
];

/** Files that run beside each other. */
export interface SuiteGroup {
  readonly files: readonly string[];
  readonly concurrency: number;
}

/** Groups that run one after the other, beside those of the other lanes. */
export interface Lane {
  /** Which of several clusters: those of one number have one cluster. */
  readonly cluster: number;
  readonly groups: readonly SuiteGroup[];
}

/**
 * The lanes that files run in, so that they take about the same time. Most only wait for the cluster, several
 * at once in one; what troubles nodes runs one by one on clusters of its own, with the conformance suite
 * after it on one and the contract on the other.
 */
export function lanesOf(files: readonly string[]): Lane[] {
  const nameOf = (file: string): string => basename(file, '.test.ts');
  const ofCluster = files.filter((file) => file.startsWith('test/cluster/'));
  const [first, second] = troubling.map((names: readonly string[]) =>
    names.flatMap((name) => ofCluster.filter((file) => file === `test/cluster/${name}.test.ts`)),
  ) as [string[], string[]];
  const quiet = ofCluster.filter((file) => !first.includes(file) && !second.includes(file));
  const isLong = (file: string): boolean => long.includes(nameOf(file));
  const isContract = (file: string): boolean => file.startsWith('test/contract/');
  const others = files.filter((file) => !ofCluster.includes(file) && !isContract(file));
  const longFirst = [...quiet.filter(isLong), ...quiet.filter((file) => !isLong(file))];
  const alone = (each: readonly string[]): SuiteGroup => ({ files: each, concurrency: 1 });
  const lanes: Lane[] = [
    { cluster: 0, groups: [{ files: longFirst, concurrency: 5 }] },
    { cluster: 1, groups: [alone(first), alone(others)] },
    { cluster: 2, groups: [alone(second), alone(files.filter(isContract))] },
  ];
  return lanes
    .map(({ cluster, groups }) => ({ cluster, groups: groups.filter((group) => group.files.length > 0) }))
    .filter(({ groups }) => groups.length > 0);
}
