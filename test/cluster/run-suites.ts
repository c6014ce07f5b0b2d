import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { profiles } from '../../src/cpi/config/profile.ts';
import { checkout } from '../support/embedded-environment.ts';
import { upstreamAgent } from '../support/upstream-programs.ts';
import { bringUp, clusterAt, enterCluster } from './bring-up.ts';
import { clusterNames, clusterPathsOf } from './cluster-paths.ts';
import { fixedAddresses } from './network.ts';
import { kubeletDirectory } from './node/configuration.ts';
import { runTests, type TestCounts } from './run-tests.ts';
import { runLanes } from './run-lanes.ts';
import { assertClusterPossible } from './requirements.ts';
import { printStages } from './progress.ts';
import { type ParallelGroup, parallelGroupsOf, suites, suitesBelow } from './suites.ts';
import type { Stemcell } from './support/cluster-under-test.ts';
import { stockPackages } from './support/stock-packages.ts';
import { withPreparedStemcells, kindOf, stemcellDirectory } from './support/suite-stemcell.ts';
import { loadStemcell, stemcellStore } from './support/load-stemcell.ts';

/** Runs a command in the environment of the suites and returns its exit code. */
type Run = (command: readonly string[]) => Promise<number>;

interface SuiteRun {
  /** The name of the first cluster. */
  readonly name: string;
  /** Files and directories. If empty, all suites run. */
  readonly files: readonly string[];
  /**
   * Stop a cluster of ours when its last test has ended, so that it uses no resources while others continue.
   */
  readonly isDownAfter: boolean;
}

/**
 * Runs test files, or all suites, against the cluster of that name, and against additional ones for suites
 * that disturb nodes. With KUBECONFIG they run against that cluster, where tests that need access to nodes
 * are skipped. Prints the counts as the last line and returns the exit code.
 */
export async function runSuites({ name, files: requestedFiles, isDownAfter }: SuiteRun): Promise<number> {
  const files = (requestedFiles.length > 0 ? requestedFiles : suites).flatMap((path) =>
    suitesBelow(checkout, path),
  );
  if (files.length === 0) throw new Error(`there is no test below ${requestedFiles.join(', ')}`);
  const { passed, failed, skipped } = await runOn(parallelGroupsOf(files), name, isDownAfter);
  console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
  return failed === 0 ? 0 : 1;
}

async function runOn(
  lanes: readonly ParallelGroup[],
  name: string,
  isDownAfter: boolean,
): Promise<TestCounts> {
  if (foreignKubeconfig() !== '') {
    const groups = lanes.flatMap((lane) => lane.groups);
    return runTests(groups, { run: await openTarget(name), isBeside: false });
  }
  const close = async (each: string): Promise<void> => {
    if (isDownAfter) await clusterAt(clusterPathsOf(each)).down();
  };
  return runLanes(lanes, { names: clusterNames(name), open: openTarget, close });
}

/** Runs a program and its arguments in the environment of the suites and returns its exit code. */
export async function runProgram(name: string, program: readonly string[]): Promise<number> {
  const run = await openTarget(name);
  return run([process.execPath, ...program]);
}

const foreignKubeconfig = (): string => process.env['KUBECONFIG'] ?? '';

/**
 * Returns how to run a command where the cluster is reachable, with the environment variables of the suites.
 */
async function openTarget(name: string): Promise<Run> {
  const given = foreignKubeconfig();
  if (given !== '') return (command) => runHere(command, foreignVariables(resolve(given)));
  assertClusterPossible();
  const stage = printStages(console.error);
  const upstream = upstreamAgent();
  const agents = upstream === undefined ? [undefined] : [undefined, upstream];
  const directories: Record<string, string> = {};
  for (const agent of agents) {
    for (const profile of profiles) {
      const kind = kindOf(profile, agent);
      // Build it here, because the tests run in a network without a route to the outside.
      directories[kind] = await stage(`stemcell ${kind}`, () => stemcellDirectory(profile, agent));
    }
  }
  const { privileged = '' } = directories;
  await stage('packages of stock stemcells', () => stockPackages(privileged));
  const store = await stage('images of nodes', () => stemcellStore(Object.values(directories)));
  const cluster = await bringUp(clusterPathsOf(name), store);
  const stemcells: Record<string, Stemcell> = {};
  for (const [kind, directory] of Object.entries(directories))
    stemcells[kind] = await loadStemcell(cluster.nodes, directory);
  const variables = {
    BOSH_KUBERNETES_TEST_KUBECONFIG: cluster.layout.kubeconfig,
    BOSH_KUBERNETES_TEST_CLUSTER: name,
    BOSH_KUBERNETES_TEST_STORAGE_CLASS: 'loop-wait',
    BOSH_KUBERNETES_TEST_ATTRIBUTES_CLASSES: 'loop-fast,loop-impossible',
    CONFORMANCE_STEMCELL: stemcells['privileged']?.image,
    CONFORMANCE_ADDRESSES: fixedAddresses.join(','),
    CONFORMANCE_KUBELET_ROOT_DIR: kubeletDirectory,
    ...withPreparedStemcells(stemcells),
  };
  return (command) => enterCluster(cluster, command, variables);
}

function foreignVariables(kubeconfig: string): NodeJS.ProcessEnv {
  const { CONFORMANCE_WAITING_STORAGE_CLASS: storageClass, CONFORMANCE_ATTRIBUTES_CLASSES: attributes } =
    process.env;
  return {
    KUBECONFIG: kubeconfig,
    BOSH_KUBERNETES_TEST_CLUSTER: '',
    BOSH_KUBERNETES_TEST_KUBECONFIG: kubeconfig,
    ...(storageClass !== undefined && { BOSH_KUBERNETES_TEST_STORAGE_CLASS: storageClass }),
    ...(attributes !== undefined && { BOSH_KUBERNETES_TEST_ATTRIBUTES_CLASSES: attributes }),
  };
}

async function runHere(command: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...environment } });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}
