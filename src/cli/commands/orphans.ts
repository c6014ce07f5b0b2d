import type { Command } from '../command.ts';
import { chooseKubeconfig } from '../choose-kubeconfig.ts';
import { withKubernetes } from '../connect.ts';
import { embeddedCluster } from '../embedded-cluster.ts';
import { kubernetesUsage, parseKubernetesArguments } from '../kubernetes-arguments.ts';
import type { Orphan } from '../orphans.ts';
import { listOrphans } from '../orphans.ts';
import { formatTable } from '../table.ts';

/** What a killed CPI call, or a human who deleted a VM's pod, may have left, and what can be done about it. Reads only: nothing here deletes what may be data. */
export const orphans: Command = {
  name: 'orphans',
  usage: kubernetesUsage,
  summary: 'List VMs, disks, snapshots, copies and attachments that a killed call may have left',
  async run(words, { installation, terminal, secrets, environment }) {
    const values = parseKubernetesArguments('orphans', words);
    const { clusterDirectory } = installation;
    const kubeconfig = chooseKubeconfig(values.kubeconfig, clusterDirectory, environment);
    if (kubeconfig.isEmbedded && !(await embeddedCluster(installation).isRunning())) {
      terminal.error('the embedded cluster does not run; start it with: bosh-kubernetes up');
      return 3;
    }
    const found = await withKubernetes(
      kubeconfig.path,
      (api, access) =>
        listOrphans(api, {
          vms: values.namespace ?? access.namespace,
          disks: values['disk-namespace'] ?? values.namespace ?? access.namespace,
        }),
      { environment, onSecrets: secrets.add },
    );
    terminal.out(report(found));
    return 0;
  },
};

/** What to do about each sort. */
const advice: Readonly<Record<Orphan['what'], string>> = {
  VM: 'VM: its create_vm is at work, or was killed. The next create_vm of its deployment that needs its address removes it. If no create_vm is at work and no state file names it: bosh -d DEPLOYMENT delete-vm NAME, or: kubectl delete secret NAME',
  disk: 'Disk: created and then neither attached nor described. If no director and no state file names it: kubectl delete pvc NAME',
  snapshot:
    'Snapshot: nothing tells whether its caller has heard of it. If `bosh snapshots` does not list it: kubectl delete volumesnapshot NAME',
  copy: 'Copy: update_disk was killed or is at work. The next update_disk of the disk goes on with it, attach_disk and delete_disk remove it.',
  'helper pod': 'Helper pod, helper snapshot: of such a copy; they go with it.',
  attachment:
    'Attachment: its VM is no more. The next attach_disk, resize_disk, update_disk or delete_disk of the disk ends it.',
  'helper snapshot': 'Helper pod, helper snapshot: of such a copy; they go with it.',
};

function report(found: readonly Orphan[]): string {
  if (found.length === 0) return 'Nothing that a killed call may have left.\n';
  const table = formatTable(
    ['What', 'Name', 'Of disk', 'Created'],
    found.map(({ what, name, disk, createdAt }) => [what, name, disk ?? '-', createdAt]),
  );
  const notes = [...new Set(found.map(({ what }) => advice[what]))];
  return `${table}\n${notes.join('\n')}\n`;
}
