import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';

/** Returns the test files at or below a path, relative to the checkout. */
function testsBelow(checkout: string, path: string): string[] {
  if (statSync(join(checkout, path)).isFile()) return path.endsWith('.test.ts') ? [path] : [];
  return readdirSync(join(checkout, path))
    .toSorted()
    .flatMap((name) => testsBelow(checkout, join(path, name)));
}

/**
 * Suites that show nothing more on a real cluster: those of the API's contract test only the embedded server,
 * those of the CPI's conformance need an API server only for objects that do not exist.
 */
const ofEmbedded = [
  ...['crash', 'local-api', 'rest-api'].map((name) => `test/contract/${name}.test.ts`),
  ...['coverage', 'envelope', 'stemcells'].map((name) => `test/conformance/${name}.test.ts`),
];

/** The suites that run against a real cluster by default. */
export const suites = ['test/cluster', 'test/contract', 'test/conformance'];

/**
 * Returns the test files at or below a path that run against a real cluster. A `*.long.test.ts` file is
 * included only if it is the path itself.
 */
export function suitesBelow(checkout: string, path: string): string[] {
  return testsBelow(checkout, path).filter(
    (file) => file === path || (!file.endsWith('.long.test.ts') && !ofEmbedded.includes(file)),
  );
}

/**
 * These suites disturb a node, its network or the API server, count objects there, or apply manifests that
 * another suite also applies. So no other suite may run on their cluster at the same time.
 */
export const disruptiveSuites = [
  ['static-ip', 'lost-node', 'loss-agent.long', 'lost-volumes', 'drained', 'day-two', 'up', 'nodes'],
  ['power-cut', 'restarts', 'loss', 'loss.long', 'leftovers', 'tunnel', 'director'],
] as const;

/** These suites take minutes. If they started late they would run alone at the end. */
export const long = [
  'foreign',
  'create-env',
  'scripted-director',
  'your-cluster',
  'vm-deleted',
  'stock-stemcell',
  'recreate',
  'disk-changes',
  'crash',
  'hot',
  'loss-driver.long',
];

/**
 * Files of the CPI's conformance that work only in their own namespaces. Of these, one uses fixed addresses.
 * The others restart the API server, look at nodes, or use the same addresses.
 */
const inOwnNamespace = ['disks', 'vms', 'volumes'].map((name) => `test/conformance/${name}.test.ts`);

/** Most of the time of the contract is this file, which waits for nodes to be lost. */
const longestContract = 'test/contract/nodes.test.ts';

/** Files that run concurrently. */
export interface SuiteGroup {
  readonly files: readonly string[];
  readonly concurrency: number;
}

/** Groups that run one after the other, concurrently with those of other lanes. */
export interface ParallelGroup {
  /** The number of the lane's cluster. Lanes with the same number share a cluster. */
  readonly cluster: number;
  readonly groups: readonly SuiteGroup[];
}

/**
 * Distributes the files over lanes that take about the same time. Most suites only wait for the cluster, so
 * several of them run concurrently in one lane. Those that disturb nodes run one by one on their own
 * clusters, followed by the conformance suite on one and the contract on the other. Each file of the contract
 * has its own namespace.
 */
export function parallelGroupsOf(files: readonly string[]): ParallelGroup[] {
  const nameOf = (file: string): string => basename(file, '.test.ts');
  const ofCluster = files.filter((file) => file.startsWith('test/cluster/'));
  const [first, second] = disruptiveSuites.map((names: readonly string[]) =>
    names.flatMap((name) => ofCluster.filter((file) => file === `test/cluster/${name}.test.ts`)),
  ) as [string[], string[]];
  const quiet = ofCluster.filter((file) => !first.includes(file) && !second.includes(file));
  const isLong = (file: string): boolean => long.includes(nameOf(file));
  const isContract = (file: string): boolean => file.startsWith('test/contract/');
  const contract = files.filter(isContract);
  const contractInOrder = [
    ...contract.filter((file) => file === longestContract),
    ...contract.filter((file) => file !== longestContract),
  ];
  const others = files.filter((file) => !ofCluster.includes(file) && !isContract(file));
  const together = inOwnNamespace.filter((file) => others.includes(file));
  const longFirst = [...quiet.filter(isLong), ...quiet.filter((file) => !isLong(file))];
  const alone = (each: readonly string[]): SuiteGroup => ({ files: each, concurrency: 1 });
  const lanes: ParallelGroup[] = [
    { cluster: 0, groups: [{ files: longFirst, concurrency: 5 }] },
    {
      cluster: 1,
      groups: [
        alone(first),
        { files: together, concurrency: 3 },
        alone(others.filter((file) => !together.includes(file))),
      ],
    },
    { cluster: 2, groups: [alone(second), { files: contractInOrder, concurrency: 3 }] },
  ];
  return lanes
    .map(({ cluster, groups }) => ({ cluster, groups: groups.filter((group) => group.files.length > 0) }))
    .filter(({ groups }) => groups.length > 0);
}
