import { existsSync } from 'node:fs';
import { oneLine } from '../../errors/text.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { ProductError } from '../../errors/product-error.ts';
import { exampleManifestPath } from '../args/env-arguments.ts';
import {
  parseStatusArguments,
  statusFlags,
  statusUsage,
  type StatusArguments,
} from '../args/kubernetes-arguments.ts';
import { listBoshObjects, type DiskSummary, type VmSummary } from '../cluster/bosh-objects.ts';
import { embeddedCluster } from '../cluster/embedded-cluster.ts';
import { findExample } from '../cluster/example-manifest.ts';
import { inspectCluster } from '../cluster/inspect-cluster.ts';
import { chooseKubeconfig, withKubernetes } from '../cluster/kubeconfig.ts';
import type { Command } from '../command.ts';
import { formatTable } from '../output/table.ts';

/**
 * Shows what the CPI has in a cluster: VMs, disks, VMs of an earlier version of the CPI, and unclaimed disks,
 * which a killed caller may have left. Reads only. The exit code is 3 if the embedded cluster does not run,
 * and 1 if the VM that a deployment's state file records is not in the cluster.
 */
export const status: Command = {
  name: 'status',
  usage: statusUsage,
  operands: ['deployment', 'other'],
  flags: statusFlags,
  example: 'hello/manifest.yml',
  summary: 'List VMs and disks in the cluster, including unclaimed disks, and check the VM of a manifest',
  async run(args, { installation, terminal, secrets, environment }) {
    const values = parseStatusArguments(args);
    const deployment = await findDeployment(await withExample(values));
    const cluster = embeddedCluster(installation);
    const { clusterDirectory } = installation;
    const chosen = chooseKubeconfig(values.kubeconfig, clusterDirectory, environment);
    if (chosen.isEmbedded) {
      terminal.out(`${await cluster.describe()}\n`);
      if (!(await cluster.isRunning())) return 3;
    }
    const kubeconfig = chosen.path;
    const options = { environment, onSecrets: secrets.add };
    const { vms, disks } = await withKubernetes(
      kubeconfig,
      (api, access) => listBoshObjects(api, values.namespace ?? access.namespace, values['disk-namespace']),
      options,
    );
    terminal.out(report(vms, disks));
    if (deployment === undefined) return 0;
    const { files, isRecorded } = deployment;
    const { statePath } = files;
    if (!isRecorded) {
      terminal.out(`\n'${values.manifestPath}' is not deployed: there is no state file '${statePath}'\n`);
      return 0;
    }
    const { missingVm } = await inspectCluster(files, kubeconfig, {
      namespace: values.namespace,
      ...options,
    });
    if (missingVm === undefined) return 0;
    terminal.error(
      `VM '${missingVm}', which '${statePath}' records, is not in the cluster; run up or create-env to create it again`,
    );
    return 1;
  },
};

/** Returns the arguments with the manifest that `up` without a manifest deploys, if it is here. */
async function withExample(values: StatusArguments): Promise<StatusArguments> {
  if ((values.manifestPath ?? values.state ?? values.kubeconfig) !== undefined) return values;
  return (await findExample()) === true ? { ...values, manifestPath: exampleManifestPath } : values;
}

/**
 * Returns undefined if no deployment was named. Rejects with FILE_NOT_FOUND if the `--state`, or the manifest
 * of a deployment without a state, does not exist.
 */
async function findDeployment({
  manifestPath,
  state,
}: StatusArguments): Promise<{ readonly files: DeploymentFiles; readonly isRecorded: boolean } | undefined> {
  if ((manifestPath ?? state) === undefined) return undefined;
  const files = await DeploymentFiles.find(manifestPath ?? '', state);
  const isRecorded = (await files.readState()) !== undefined;
  if (!isRecorded && state !== undefined)
    throw new ProductError('FILE_NOT_FOUND', `There is no deployment state file '${files.statePath}'`);
  if (!isRecorded && manifestPath !== undefined && !existsSync(manifestPath))
    throw new ProductError('FILE_NOT_FOUND', `There is no manifest '${manifestPath}'`);
  return { files, isRecorded };
}

/**
 * Returns the output of the command: tables, then one sentence for each VM or disk that needs an action of
 * the operator.
 */
export function report(vms: readonly VmSummary[], disks: readonly DiskSummary[]): string {
  const vmTable = formatTable(
    ['VM', 'Instance', 'Phase', 'Address', 'Disks'],
    vms.map((vm) => [vm.cid, vm.instance, vm.phase, vm.address, vm.disks.join(', ') || '-']),
  );
  const diskTable = formatTable(
    ['Disk', 'Size', 'Phase', 'Attached to'],
    disks.map((disk) => [disk.cid, disk.size, disk.phase, disk.vm ?? (disk.unclaimed ? 'unclaimed' : '-')]),
  );
  const outdated = vms
    .filter((vm) => vm.outdated)
    .map(
      ({ cid }) =>
        `VM '${oneLine(cid)}' was made by an earlier version of the CPI and keeps its scripts, which lack security fixes, ` +
        'until it is recreated: run up or create-env with --recreate, or bosh recreate if a director created it\n',
    );
  const unclaimed = disks
    .filter((disk) => disk.unclaimed && disk.vm === undefined)
    .map(
      ({ cid }) =>
        `Disk '${oneLine(cid)}' was created and then neither attached nor described: its caller may have been killed. ` +
        `If no state file names it, remove it with: kubectl delete pvc ${oneLine(cid)}\n`,
    );
  const notes = [...outdated, ...unclaimed];
  return `\n${vmTable}\n${diskTable}${notes.length > 0 ? `\n${notes.join('')}` : ''}`;
}
