import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { profiles } from '../../src/cpi/vm/profile.ts';
import { checkout } from '../support/embedded-line.ts';
import { upstreamAgent } from '../support/upstream-programs.ts';
import { bringUp } from './bring-up.ts';
import { enter } from './enter.ts';
import { layoutOf } from './layout.ts';
import { fixedAddresses } from './network.ts';
import { kubeletDirectory } from './node/configuration.ts';
import { runTests } from './run-tests.ts';
import { printingStages } from './stages.ts';
import { groupsOf, suites, suitesBelow } from './suites.ts';
import { suiteStemcell } from './support/suite-stemcell.ts';

/**
 * Runs test files, or all suites, against the cluster of that name or, where KUBECONFIG is set, the one that it names;
 * there, tests that have to reach into nodes skip by name. Prints the count as the last line and resolves with the exit code.
 */
export async function runSuites(name: string, asked: readonly string[]): Promise<number> {
  const run = await openTarget(name);
  const files = (asked.length > 0 ? asked : suites).flatMap((path) => suitesBelow(checkout, path));
  if (files.length === 0) throw new Error(`there is no test below ${asked.join(', ')}`);
  const { passed, failed, skipped } = await runTests(groupsOf(files), run);
  console.log(`${skipped} skipped\n${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

/** Runs a program and its arguments with what the suites have, and resolves with its exit code. */
export async function runProgram(name: string, program: readonly string[]): Promise<number> {
  const run = await openTarget(name);
  return run([process.execPath, ...program]);
}

/** How a command runs where the cluster can be reached, with the variables that suites look at. */
async function openTarget(name: string): Promise<(command: readonly string[]) => Promise<number>> {
  const { KUBECONFIG: given = '' } = process.env;
  if (given !== '') return (command) => runHere(command, foreignVariables(resolve(given)));
  const cluster = await bringUp(layoutOf(name));
  const stage = printingStages(console.error);
  // here, because nothing leads out of the network that the tests run in
  for (const profile of profiles) await stage(`stemcell ${profile}`, () => suiteStemcell(cluster, profile));
  const upstream = upstreamAgent();
  for (const profile of upstream === undefined ? [] : profiles)
    await stage(`upstream stemcell ${profile}`, () => suiteStemcell(cluster, profile, upstream));
  const { image } = await suiteStemcell(cluster, 'privileged');
  const variables = {
    BOSH_KUBERNETES_TEST_KUBECONFIG: cluster.layout.kubeconfig,
    BOSH_KUBERNETES_TEST_CLUSTER: name,
    BOSH_KUBERNETES_TEST_STORAGE_CLASS: 'loop-wait',
    CONFORMANCE_STEMCELL: image,
    CONFORMANCE_ADDRESSES: fixedAddresses.join(','),
    CONFORMANCE_KUBELET_ROOT_DIR: kubeletDirectory,
  };
  return (command) => enter(cluster, command, variables);
}

function foreignVariables(kubeconfig: string): NodeJS.ProcessEnv {
  const { CONFORMANCE_WAITING_STORAGE_CLASS: storageClass } = process.env;
  return {
    KUBECONFIG: kubeconfig,
    BOSH_KUBERNETES_TEST_CLUSTER: '',
    BOSH_KUBERNETES_TEST_KUBECONFIG: kubeconfig,
    ...(storageClass !== undefined && { BOSH_KUBERNETES_TEST_STORAGE_CLASS: storageClass }),
  };
}

async function runHere(command: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { stdio: 'inherit', env: { ...process.env, ...environment } });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}
