import { openCall } from '../../inventory/open-call.ts';
import { systemClock } from '../../platform/clock.ts';
import { orphansFlags, parseOrphansArguments } from '../args/orphans-arguments.ts';
import { describeMissingCluster, embeddedCluster } from '../cluster/embedded-cluster.ts';
import { chooseKubeconfig, withKubernetes } from '../cluster/kubeconfig.ts';
import type { Command } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { cleanOrphans } from '../inventory/clean-orphans.ts';

/**
 * Shows what a killed CPI call, or a user who deleted a VM's pod, may have left, and what can be done about
 * it. With `--delete` it deletes, after a question for each kind, the VMs, disks and snapshots that the given
 * records show not to be in use. The exit code is 3 if the embedded cluster does not run, and 1 if an object
 * that was to be deleted stays, or if the account may not list the objects of a namespace.
 */
export const orphans: Command = {
  name: 'orphans',
  usage: '',
  operands: ['other'],
  flags: orphansFlags,
  example: '--kubeconfig ~/.kube/config --namespace bosh',
  summary: 'List VMs, disks, snapshots, copies, attachments and released volumes that calls may have left',
  json: true,
  documentation: 'docs/status.md',
  async run(args, context) {
    const values = parseOrphansArguments(args);
    const { installation, terminal, secrets, environment, signal } = context;
    const kubeconfig = await chooseKubeconfig(values.kubeconfig, installation.clusterDirectory, environment);
    if (kubeconfig.isEmbedded && !(await embeddedCluster(installation).isRunning())) {
      const remedy = describeMissingCluster(installation) ?? "'bosh-kubernetes up' starts it";
      terminal.error(`The embedded cluster does not run; ${remedy}`);
      return 3;
    }
    const work = withKubernetes(
      kubeconfig.path,
      (api, access) => {
        const vms = values.namespace ?? access.namespace;
        const namespaces = { vms, disks: values['disk-namespace'] ?? vms };
        const call = openCall(api, access, namespaces, (line) => terminal.error(line));
        return cleanOrphans({ call, clock: systemClock }, values, context);
      },
      // A deletion that has begun is completed.
      { environment, onSecrets: secrets.add, signal: values.delete ? undefined : signal },
    );
    return interruptible(work, signal, {
      result: values.delete
        ? 'Only the objects that are named above were deleted'
        : 'The cluster was not read',
      next: 'the same command lists what is left',
    });
  },
};
