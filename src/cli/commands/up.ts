import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createEnv, type CreateEnvResult, stoppedJobs } from '../../deploy/create-env.ts';
import { readInstanceState } from '../../deploy/instance/instance-state.ts';
import { checkPaths } from '../../deploy/session.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { ProductError } from '../../errors/product-error.ts';
import { systemClock } from '../../platform/clock.ts';
import {
  defaultVarsStorePath,
  envFlags,
  envUsage,
  parseEnvArguments,
  type EnvArguments,
} from '../args/env-arguments.ts';
import { assertOutsideOfPackage, assertStateOutsideOfPackage } from '../assert-outside-of-package.ts';
import { announceUrl, checkUrlTag } from '../cluster/announce-url.ts';
import { assertAddressFree, readListeners, type AddressCheck } from '../cluster/check-address-free.ts';
import { embeddedCluster, type EmbeddedCluster, vmLogDirectory } from '../cluster/embedded-cluster.ts';
import { writeExample } from '../cluster/example-manifest.ts';
import { identifyEmbeddedCluster } from '../cluster/check-destroy-target.ts';
import { inspectCluster } from '../cluster/inspect-cluster.ts';
import { withClusterLock } from '../cluster/installation-lock.ts';
import { startCluster } from '../cluster/start-cluster.ts';
import { assertClusterNotRemoved } from '../cluster/removed-cluster.ts';
import { withClusterVariables } from '../cluster/with-cluster-variables.ts';
import type { Command, CommandContext } from '../command.ts';
import { shellWord } from '../../platform/shell-word.ts';
import { commandInVm, envPorts } from '../env-ports.ts';
import type { Installation } from '../installation.ts';
import { interruptible } from '../interruption.ts';
import { printTable } from '../output/terminal.ts';
import { withLiveProgress } from '../output/with-progress.ts';

/** Milliseconds that a job may take to run after a restart of its VM. */
const runningBudget = 120_000;

/**
 * Starts the embedded cluster if it does not run, converges the manifest's VM, and waits until its jobs run.
 * Without a manifest, writes that of the example if it is missing, and deploys it.
 * Prints a table and, if it accepts connections, the manifest's `tags.url` (see announceUrl). A second run
 * changes nothing.
 */
export const up: Command = {
  name: 'up',
  usage: envUsage.up,
  flags: envFlags('up'),
  example: 'hello/manifest.yml',
  documentation: 'docs/deploying.md',
  summary: 'Start the embedded cluster and deploy a manifest on it',
  async run(args, context) {
    const parsed = parseEnvArguments('up', args);
    if ('kubeconfig' in parsed.variables)
      throw new ProductError('INVALID_ARGUMENT', `'up' takes a kubeconfig as --var-file kubeconfig=FILE`);
    const { installation } = context;
    const varsStorePath = parsed.varsStorePath ?? defaultVarsStorePath(parsed.manifestPath);
    await assertOutsideOfPackage(installation.clusterDirectory, installation);
    await assertStateOutsideOfPackage({ ...parsed, varsStorePath }, installation);
    const { statePath } = parsed;
    if (parsed.isExample && (await writeExample(installation.root, { statePath, readListeners })))
      context.terminal.error(
        `Wrote the example, ${parsed.manifestPath}; edit it and run the same command again`,
      );
    await refuseOtherCluster(parsed, installation);
    return withClusterLock(installation, 'start', () => converge(parsed, context));
  },
};

/**
 * Refuses a deployment whose cluster was here and was removed. If no cluster was ever started here, refuses a
 * deployment on another cluster before one is created here. Throws OTHER_CLUSTER.
 */
async function refuseOtherCluster(parsed: EnvArguments, { clusterDirectory }: Installation): Promise<void> {
  if ('kubeconfig' in parsed.variableFiles) return;
  const files = await DeploymentFiles.find(parsed.manifestPath, parsed.statePath);
  await assertClusterNotRemoved(files, clusterDirectory, parsed);
  if (existsSync(clusterDirectory)) return;
  await files.assertOnCluster(await identifyEmbeddedCluster(clusterDirectory));
}

async function converge(parsed: EnvArguments, context: CommandContext): Promise<number> {
  const { installation, terminal, signal } = context;
  const files = await DeploymentFiles.find(parsed.manifestPath, parsed.statePath);
  await checkPaths(parsed.manifestPath, files);
  const { statePath } = files;
  const { kubeconfig, ...wanted } = withClusterVariables(parsed, installation);
  const logs = vmLogDirectory(kubeconfig, installation.clusterDirectory);
  const cluster = embeddedCluster(installation);
  const addressCheck = logs === undefined ? undefined : await checkOfAddress(files, cluster, parsed);
  await startCluster(cluster, context);
  const { environment, secrets } = context;
  const onSecrets = secrets.add;
  const inspected = await interruptible(
    withLiveProgress(terminal, 'Reading the cluster', () =>
      inspectCluster(files, kubeconfig, { environment, signal, onSecrets }),
    ),
    signal,
    { result: 'Nothing was deployed', next: 'the same command continues' },
  );

  const result = await createEnv(
    {
      ...wanted,
      statePath,
      cluster: inspected.cluster,
      checkManifest: (manifest) => {
        checkUrlTag(manifest);
        if (addressCheck !== undefined) assertAddressFree(manifest, addressCheck);
      },
      workspace: installation.workspace,
      ...{ signal, onSecrets },
      // On another cluster the VMs may be in another namespace than the kubeconfig's.
      commandInVm: logs === undefined ? undefined : commandInVm(resolve(kubeconfig)),
    },
    envPorts(context),
  );
  const flags = parsed.statePath === undefined ? [] : ['--state', parsed.statePath];
  const logsCommand = ['bosh-kubernetes', 'logs', parsed.manifestPath, ...flags].map(shellWord).join(' ');
  return showInstance(result, { statePath, logs, logsCommand: `${logsCommand} --num 20` }, context);
}

interface Deployed {
  readonly statePath: string;
  /** The logs of the embedded cluster's VMs. */
  readonly logs: string | undefined;
  /** The command that shows the logs of the jobs. */
  readonly logsCommand: string;
}

/** Waits until the jobs run, and prints the instance and its URL. Returns the exit code. */
async function showInstance(
  result: CreateEnvResult,
  { statePath, logs, logsCommand }: Deployed,
  { terminal, signal }: CommandContext,
): Promise<number> {
  const { manifest, instance } = result;
  // After a restart of the cluster the VM starts by itself, a moment after the API server.
  const { state, address } = ['running', 'stopped'].includes(result.state)
    ? result
    : await interruptible(
        withLiveProgress(terminal, `Waiting for '${instance}'`, () =>
          readInstanceState({ manifest, statePath, clock: systemClock, signal, budget: runningBudget }),
        ),
        signal,
        { result: `'${instance}' is deployed, and its jobs do not run yet`, next: waitAgain },
      );

  terminal.out('\n');
  printTable(terminal, {
    content: 'instances',
    header: ['Instance', 'State', 'Address', 'Disk'],
    rows: [[instance, state, address ?? '-', result.diskCid ?? '-']],
  });
  if (state === 'stopped') {
    if (result.state !== 'stopped') terminal.error(stoppedJobs(instance).trimEnd());
    return 1;
  }
  if (state !== 'running') {
    terminal.error(
      `Instance '${instance}' is '${state}' after ${runningBudget / 1000} s; ${logs === undefined ? '' : `its logs: ${logs}; `}` +
        'if its VM no longer exists, --recreate creates another one with the same disk',
    );
    return 1;
  }
  return interruptible(
    withLiveProgress(terminal, 'Waiting for the URL', () =>
      announceUrl(manifest.tags['url'], {
        ...{ terminal, clock: systemClock, signal, isEmbedded: logs !== undefined, logsCommand },
      }),
    ),
    signal,
    { result: 'The jobs run, and the URL does not accept connections yet', next: waitAgain },
  );
}

const waitAgain =
  "the same command changes nothing and waits again; 'bosh-kubernetes stop' stops the cluster";

/**
 * Returns the listeners on this machine, none of which can belong to the VM that the state file records: its
 * cluster does not run, or it has no VM. Otherwise returns an empty list.
 */
async function checkOfAddress(
  files: DeploymentFiles,
  cluster: EmbeddedCluster,
  { manifestPath }: EnvArguments,
): Promise<AddressCheck> {
  const mayHaveVm = (await files.readKnownResources())?.hasVm === true;
  const isRunning = await cluster.isRunning();
  return {
    listeners: mayHaveVm && isRunning ? [] : await readListeners(),
    restorable: !mayHaveVm && isRunning ? resolve(manifestPath) : undefined,
  };
}
