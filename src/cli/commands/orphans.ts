import { kubernetesFlags, parseKubernetesArguments } from '../args/kubernetes-arguments.ts';
import { embeddedCluster } from '../cluster/embedded-cluster.ts';
import { chooseKubeconfig, withKubernetes } from '../cluster/kubeconfig.ts';
import { type Orphan, type Orphans, listOrphans } from '../cluster/orphans.ts';
import type { Command } from '../command.ts';
import { formatTable } from '../output/table.ts';

/**
 * Shows what a killed CPI call, or a user who deleted a VM's pod, may have left, and what can be done about
 * it. Reads only: it does not delete anything that may be data.
 */
export const orphans: Command = {
  name: 'orphans',
  usage: '',
  operands: ['other'],
  flags: kubernetesFlags,
  example: '--kubeconfig ~/.kube/config --namespace bosh',
  summary: 'List VMs, disks, snapshots, copies, attachments and released volumes that calls may have left',
  async run(args, { installation, terminal, secrets, environment }) {
    const values = parseKubernetesArguments('orphans', args);
    const { clusterDirectory } = installation;
    const kubeconfig = chooseKubeconfig(values.kubeconfig, clusterDirectory, environment);
    if (kubeconfig.isEmbedded && !(await embeddedCluster(installation).isRunning())) {
      terminal.error('the embedded cluster does not run; start it with: bosh-kubernetes cluster start');
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

const helper =
  'Helper pod, helper snapshot: they belong to a copy and are removed with it. If the copy is not listed: kubectl delete pod NAME, kubectl delete volumesnapshot NAME';

/** Advice for each kind of orphan. */
const advice: Readonly<Record<Orphan['what'], string>> = {
  VM: 'VM: its create_vm is running or was killed. The next create_vm of its deployment that needs its address removes it. If no create_vm is running and no state file names it: bosh -d DEPLOYMENT delete-vm NAME, or: kubectl delete secret NAME',
  disk: 'Disk: created and then neither attached nor described. If no director and no state file names it: kubectl delete pvc NAME',
  snapshot:
    'Snapshot: its caller may not have received its cid. If `bosh snapshots` does not list it: kubectl delete volumesnapshot NAME',
  'replaced disk':
    'Replaced disk: update_disk was killed after the copy that is named here had replaced it. The next call for the disk deletes it; delete neither.',
  'left copy':
    'Left copy: no disk refers to it, so it replaces none and may be older than the disk. Unless its disk was deleted with kubectl: kubectl delete pvc NAME',
  copy: 'Copy: update_disk was killed or is running. The next update_disk of the disk continues with it; attach_disk and delete_disk remove it.',
  'helper pod': helper,
  attachment:
    'Attachment: its VM no longer exists. The next attach_disk, resize_disk, update_disk or delete_disk of the disk removes it.',
  'helper snapshot': helper,
  'released volume':
    'Released volume: the disk or the VM that had it was deleted, and its StorageClass retains volumes (reclaimPolicy Retain), so its data ' +
    'still exist. docs/operating.md, "Volumes that stay", says how to delete it and how to get a disk back',
};

const unknownVms =
  'VMs were not checked: the kubeconfig does not allow listing Secrets, which show whether a create_vm has finished.\n';

const unknownVolumes =
  'Released volumes were not checked: the kubeconfig does not allow listing PersistentVolumes.\n';

function report({ found, areVmsKnown, areVolumesKnown }: Orphans): string {
  const unknown = `${areVmsKnown ? '' : unknownVms}${areVolumesKnown ? '' : unknownVolumes}`;
  if (found.length === 0) return `No objects that a killed call may have left.\n${unknown}`;
  const table = formatTable(
    ['What', 'Name', 'Of disk', 'Created'],
    found.map(({ what, name, disk, createdAt }) => [what, name, disk ?? '-', createdAt]),
  );
  const notes = [...new Set(found.map(({ what }) => advice[what]))];
  return `${table}\n${notes.join('\n')}\n${unknown}`;
}
