import { resolve } from 'node:path';
import { apiKubeletRoot } from '../../../embedded-cluster/node/node-paths.ts';
import { statePathFor } from '../../deploy/state/state-file.ts';
import { createEnv, stoppedJobs } from '../../deploy/create-env.ts';
import { systemClock } from '../../deploy/clock.ts';
import { readInstanceState } from '../../deploy/instance/instance-state.ts';
import { readKnownResources } from '../../deploy/state/known-resources.ts';
import { ProductError } from '../../errors/product-error.ts';
import { announceUrl } from '../announce-url.ts';
import { commandInVm } from '../command-in-vm.ts';
import type { Command, CommandContext } from '../command.ts';
import { kubeconfigPath } from '../connect.ts';
import { defaultVarsStorePath } from '../default-credentials.ts';
import { inspectCluster } from '../look-at-cluster.ts';
import { embeddedCluster, type EmbeddedCluster } from '../embedded-cluster.ts';
import { vmLogDirectory } from '../embedded-logs.ts';
import { envUsage, parseEnvArguments, type EnvArguments } from '../env-arguments.ts';
import { envPorts } from '../env-ports.ts';
import { readListeners, assertAddressFree, type Listener } from '../taken-address.ts';
import { checkUrlTag } from '../url-tag.ts';
import { formatTable } from '../table.ts';
import { withClusterLock } from '../hold-cluster.ts';

/** Milliseconds that a job may take to run after a restart of its VM. */
const runningBudget = 120_000;

/**
 * Starts the embedded cluster if it does not run, converges the manifest's VM, and waits until its jobs run.
 * Prints a table and, if it accepts connections, the manifest's `tags.url` (see announceUrl). A second run
 * changes nothing.
 */
export const up: Command = {
  name: 'up',
  usage: envUsage.up,
  summary: 'Start the embedded cluster and deploy a manifest on it',
  async run(words, context) {
    const parsed = parseEnvArguments('up', words);
    if ('kubeconfig' in parsed.variables)
      throw new ProductError('INVALID_ARGUMENT', `'up' takes a kubeconfig as --var-file kubeconfig=FILE`);
    return withClusterLock(context.installation, 'start', () => converge(parsed, context));
  },
};

async function converge(parsed: EnvArguments, context: CommandContext): Promise<number> {
  const { installation, terminal, signal } = context;
  const statePath = await statePathFor(parsed.manifestPath, parsed.statePath);
  const { kubeconfig, ...wanted } = withClusterVariables(parsed, installation.clusterDirectory);
  const logs = vmLogDirectory(kubeconfig, installation.clusterDirectory);
  const cluster = embeddedCluster(installation);
  const others = logs === undefined ? [] : await listenersOfOthers(statePath, cluster);
  await cluster.start((line) => terminal.error(line));
  const { environment, secrets } = context;
  const look = await inspectCluster(statePath, kubeconfig, { environment, onSecrets: secrets.add });

  const result = await createEnv(
    {
      ...wanted,
      statePath,
      cluster: look.cluster,
      checkManifest: (manifest) => {
        checkUrlTag(manifest);
        assertAddressFree(manifest, others);
      },
      workspace: installation.workspace,
      signal,
      onSecrets: context.secrets.add,
      // On another cluster the VMs may be in another namespace than the kubeconfig's.
      commandInVm: logs === undefined ? undefined : commandInVm(resolve(kubeconfig)),
    },
    envPorts(context),
  );
  const { manifest } = result;
  // After a restart of the cluster the VM starts by itself, a moment after the API server.
  const { state, address } = ['running', 'stopped'].includes(result.state)
    ? result
    : await readInstanceState({ manifest, statePath, clock: systemClock, signal, budget: runningBudget });

  terminal.out(
    `\n${formatTable(['Instance', 'State', 'Address', 'Disk'], [[result.instance, state, address ?? '-', result.diskCid ?? '-']])}\n`,
  );
  if (state === 'stopped') {
    if (result.state !== 'stopped') terminal.error(stoppedJobs(result.instance).trimEnd());
    return 1;
  }
  if (state !== 'running') {
    terminal.error(
      `Instance '${result.instance}' is '${state}' after ${runningBudget / 1000} s; ${logs === undefined ? '' : `its logs: ${logs}; `}` +
        'where its VM is gone, --recreate makes another one with the same disk',
    );
    return 1;
  }
  return announceUrl(manifest.tags['url'], { terminal, clock: systemClock, signal, logs });
}

/**
 * Returns the listeners on this machine, none of which can belong to this deployment: its cluster does not
 * run, or it has no VM. Otherwise returns an empty list.
 */
async function listenersOfOthers(statePath: string, cluster: EmbeddedCluster): Promise<Listener[]> {
  const known = await readKnownResources(statePath);
  const mayHaveVm = (known?.vmCid ?? known?.pendingAgentId) !== undefined;
  return mayHaveVm && (await cluster.isRunning()) ? [] : readListeners();
}

/**
 * Adds the variables that only the embedded cluster knows. The operator's values take precedence, including a
 * kubeconfig of another cluster.
 */
function withClusterVariables(
  parsed: EnvArguments,
  clusterDirectory: string,
): EnvArguments & { readonly kubeconfig: string } {
  const variableFiles = { kubeconfig: kubeconfigPath(clusterDirectory), ...parsed.variableFiles };
  return {
    ...parsed,
    varsStorePath: parsed.varsStorePath ?? defaultVarsStorePath(parsed.manifestPath),
    variables: { kubelet_root_dir: apiKubeletRoot, ...parsed.variables },
    variableFiles,
    kubeconfig: variableFiles.kubeconfig,
  };
}
