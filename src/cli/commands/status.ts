import { existsSync } from 'node:fs';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { ProductError } from '../../errors/product-error.ts';
import { findUnknownNamespaces } from '../../inventory/find-unknown-namespaces.ts';
import { type Namespaces, readLists, statusLists } from '../../inventory/object-lists.ts';
import type { Access } from '../../kubernetes/access/access.ts';
import { clockDifference } from '../../kubernetes/timestamp.ts';
import { systemClock } from '../../platform/clock.ts';
import { shellWord } from '../../platform/shell-word.ts';
import { exampleManifestPath } from '../args/env-arguments.ts';
import {
  parseStatusArguments,
  statusFlags,
  statusUsage,
  type StatusArguments,
} from '../args/kubernetes-arguments.ts';
import { embeddedCluster } from '../cluster/embedded-cluster.ts';
import { findExample } from '../cluster/example-manifest.ts';
import { inspectCluster } from '../cluster/inspect-cluster.ts';
import { type ChosenKubeconfig, chooseKubeconfig, withKubernetes } from '../cluster/kubeconfig.ts';
import { readJobs } from '../cluster/read-jobs.ts';
import type { Command, CommandContext } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { isComplete, statusLines, statusNotes, statusTables } from '../inventory/status-tables.ts';
import { toStatusView, watchStatus } from '../inventory/watch-status.ts';
import { printLines, printTable } from '../output/terminal.ts';
import { withLiveProgress } from '../output/with-progress.ts';

/**
 * Shows what the CPI has in a cluster: problems with their next steps, VMs, disks, snapshots and networks.
 * Reads only. With `--watch` it follows the changes until Ctrl-C, which is no error. The exit code is 3 if
 * the embedded cluster does not run, and 1 if the VM that a deployment's state file records is not in the
 * cluster, or if objects may be missing in the tables because the account may not list them.
 */
export const status: Command = {
  name: 'status',
  usage: statusUsage,
  operands: ['deployment', 'other'],
  flags: statusFlags,
  example: 'hello/manifest.yml',
  summary: 'List problems, VMs, disks, snapshots and networks in the cluster, and check the VM of a manifest',
  json: true,
  documentation: 'docs/status.md',
  async run(args, context) {
    const { installation, terminal, environment } = context;
    const values = await withExample(parseStatusArguments(args));
    if (values.watch && terminal.structured !== undefined)
      throw new ProductError(
        'INVALID_ARGUMENT',
        `--json shows one moment; leave out --watch. Usage: status ${statusUsage}`,
      );
    const deployment = await findDeployment(values);
    const cluster = embeddedCluster(installation);
    const chosen = await chooseKubeconfig(values.kubeconfig, installation.clusterDirectory, environment);
    if (chosen.isEmbedded) {
      terminal.out(`${await cluster.describe()}\n`);
      if (!(await cluster.isRunning())) return 3;
    }
    if (values.watch) {
      await watchCluster(chosen.path, values, context);
      return 0;
    }
    const isShown = await showCluster(chosen, { values, deployment }, context);
    const isDeployed =
      deployment === undefined || (await checkDeployment(deployment, chosen.path, values, context));
    return isShown && isDeployed ? 0 : 1;
  },
};

/** Shows the cluster until the signal, which is no error. */
async function watchCluster(
  kubeconfig: string,
  values: StatusArguments,
  { terminal, secrets, environment, signal }: CommandContext,
): Promise<void> {
  const { details } = values;
  const watching = withKubernetes(
    kubeconfig,
    (api, access) => {
      const namespaces = namespacesOf(values, access);
      return watchStatus({ api, namespaces, terminal, clock: systemClock, signal, details });
    },
    { environment, onSecrets: secrets.add, signal },
  );
  await watching.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Shows the cluster once. Returns false if objects may be missing because the account may not list them. */
async function showCluster(
  { path: kubeconfig, isEmbedded }: ChosenKubeconfig,
  { values, deployment }: { readonly values: StatusArguments; readonly deployment: Deployment | undefined },
  context: CommandContext,
): Promise<boolean> {
  const { terminal, secrets, environment, signal } = context;
  const { manifestPath } = values;
  const clock = systemClock;
  const reading = withLiveProgress(terminal, 'Reading the cluster', () =>
    withKubernetes(
      kubeconfig,
      async (api, access) => {
        const namespaces = namespacesOf(values, access);
        const lists = await readLists(api, namespaces, statusLists);
        const unknown = await findUnknownNamespaces(api, namespaces, lists);
        const now = clock.now() + clockDifference(api, clock);
        if (!isEmbedded || deployment === undefined || manifestPath === undefined)
          return toStatusView(lists, unknown, now);
        const vms = (lists.vmPods ?? []).map(({ metadata }) => metadata.name);
        const jobs = await readJobs(manifestPath, { files: deployment.files, vms }, context);
        return toStatusView(lists, unknown, now, jobs);
      },
      { environment, onSecrets: secrets.add, signal },
    ),
  );
  const view = await interruptible(reading, signal, notRead);
  if (terminal.structured === undefined) {
    const width = terminal.display?.columns ?? Infinity;
    printLines(terminal, ['', ...statusLines(view, { width, details: values.details })]);
  } else {
    for (const table of statusTables(view)) printTable(terminal, table);
    for (const note of statusNotes(view)) terminal.out(`${note}\n`);
  }
  return isComplete(view);
}

function namespacesOf({ namespace, 'disk-namespace': disks }: StatusArguments, access: Access): Namespaces {
  const vms = namespace ?? access.namespace;
  return { vms, disks: disks ?? vms };
}

const notRead = { result: 'The cluster was not read', next: 'run the same command again' };

interface Deployment {
  readonly files: DeploymentFiles;
  readonly isRecorded: boolean;
}

/** Returns false, after an error message, if the VM that the state file records does not exist. */
async function checkDeployment(
  { files, isRecorded }: Deployment,
  kubeconfig: string,
  { manifestPath, namespace }: StatusArguments,
  { terminal, secrets, environment, signal }: CommandContext,
): Promise<boolean> {
  const { statePath } = files;
  if (!isRecorded) {
    terminal.out(
      `\n'${manifestPath}' is not deployed: there is no state file '${statePath}'. If it was deployed and the file is lost, write it again ` +
        `from the VM and its disk: bosh-kubernetes state restore ${shellWord(manifestPath ?? '')}\n`,
    );
    return true;
  }
  const inspecting = withLiveProgress(terminal, 'Reading the cluster', () =>
    inspectCluster(files, kubeconfig, { namespace, environment, signal, onSecrets: secrets.add }),
  );
  const { missingVm } = await interruptible(inspecting, signal, notRead);
  if (missingVm === undefined) return true;
  terminal.error(
    `VM '${missingVm}', which '${statePath}' records, is not in the cluster; run up or create-env to create it again`,
  );
  return false;
}

/** Returns the arguments with the manifest that `up` without a manifest deploys, if it is here. */
async function withExample(values: StatusArguments): Promise<StatusArguments> {
  if ((values.manifestPath ?? values.state ?? values.kubeconfig) !== undefined) return values;
  return (await findExample()) === true ? { ...values, manifestPath: exampleManifestPath } : values;
}

/**
 * Returns undefined if no deployment was named. Rejects with FILE_NOT_FOUND if the `--state`, or the manifest
 * of a deployment without a state, does not exist.
 */
async function findDeployment({ manifestPath, state }: StatusArguments): Promise<Deployment | undefined> {
  if ((manifestPath ?? state) === undefined) return undefined;
  const files = await DeploymentFiles.find(manifestPath ?? '', state);
  const isRecorded = (await files.readState()) !== undefined;
  if (!isRecorded && state !== undefined)
    throw new ProductError('FILE_NOT_FOUND', `There is no deployment state file '${files.statePath}'`);
  if (!isRecorded && manifestPath !== undefined && !existsSync(manifestPath))
    throw new ProductError('FILE_NOT_FOUND', `There is no manifest '${manifestPath}'`);
  return { files, isRecorded };
}
