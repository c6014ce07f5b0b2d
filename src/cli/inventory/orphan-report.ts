import type { Orphan, Orphans } from '../../inventory/find-orphans.ts';
import { type Verdict, isDeletable } from '../../inventory/judge-orphan.ts';
import type { ListName } from '../../inventory/object-lists.ts';
import { printTable, type Terminal } from '../output/terminal.ts';
import { formatAge } from './format-age.ts';
import { unknownNamespaceNote } from './status-tables.ts';

const helper =
  'Helper pod, helper snapshot: they belong to a copy and are removed with it. If the copy is not listed: kubectl delete pod NAME, kubectl delete volumesnapshot NAME';

/** Advice for each kind of orphan. */
const advice: Readonly<Record<Orphan['what'], string>> = {
  VM: 'VM: its create_vm is running or was killed. The next create_vm of its deployment that needs its address removes it.',
  disk: 'Disk: created and then neither attached nor described, so it has no data.',
  snapshot: 'Snapshot: its caller may not have received its cid.',
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
    'still exist. docs/recovery.md, "Volumes that stay", says how to delete it and how to get a disk back',
};

const howToDelete =
  'Disks, VMs and snapshots are deleted by `orphans --delete` with --state FILE for create-env and with the lists of a director ' +
  '(--director-json), which show what is in use; docs/status.md says how.';

const unreadNotes: Partial<Record<ListName, string>> = {
  vmSecrets:
    'VMs were not checked: the kubeconfig does not allow listing Secrets, which show whether a create_vm has finished.',
  volumes: 'Released volumes were not checked: the kubeconfig does not allow listing PersistentVolumes.',
  vmPods: 'VMs and attachments were not checked: the kubeconfig does not allow listing pods.',
  diskPods:
    'Attachments were not checked: the kubeconfig does not allow listing pods in the namespace of the disks.',
  claims: 'Disks were not checked: the kubeconfig does not allow listing PersistentVolumeClaims.',
  snapshots: 'Snapshots were not checked: the kubeconfig does not allow listing VolumeSnapshots.',
};

export interface JudgedOrphan {
  readonly orphan: Orphan;
  /** Absent if no record of use was given. */
  readonly verdict: Verdict | undefined;
}

interface OrphanReport {
  readonly judged: readonly JudgedOrphan[];
  readonly unread: Orphans['unread'];
  /** The namespaces of which it is not known whether they exist. */
  readonly unknownNamespaces: readonly string[];
  readonly now: number;
}

/** Prints the orphans, what is known about their use, and what can be done about each kind. */
export function printOrphans(
  terminal: Terminal,
  { judged, unread, unknownNamespaces, now }: OrphanReport,
): void {
  const notes = [
    ...unknownNamespaces.map(unknownNamespaceNote),
    ...unread.flatMap((name) => unreadNotes[name] ?? []),
  ];
  const hasVerdict = judged.some(({ verdict }) => verdict !== undefined);
  if (judged.length === 0 && terminal.structured === undefined) {
    const none =
      notes.length === 0
        ? 'No objects that a killed call may have left.'
        : 'No objects that a killed call may have left were found in what could be read.';
    terminal.out([none, ...notes, ''].join('\n'));
    return;
  }
  printTable(terminal, {
    content: 'orphans',
    header: ['What', 'Name', 'Of disk', 'Size', 'Age', ...(hasVerdict ? ['Use'] : [])],
    rows: judged.map(({ orphan: { what, name, disk, size, createdAt }, verdict }) => [
      ...[what, name, disk ?? '-', size ?? '-', formatAge(createdAt, now)],
      ...(verdict === undefined ? [] : [describeVerdict(verdict)]),
    ]),
  });
  const kinds = [...new Set(judged.map(({ orphan }) => advice[orphan.what]))];
  const deletable = judged.some(({ orphan }) => isDeletable(orphan));
  const how = deletable && !hasVerdict ? [howToDelete] : [];
  terminal.out([...kinds, ...how, ...notes].map((line) => `${line}\n`).join(''));
}

function describeVerdict(verdict: Verdict): string {
  switch (verdict.is) {
    case 'unused':
      return 'not in use';
    case 'used':
      return `in use (${verdict.by})`;
    case 'unknown':
      return `unknown: ${verdict.why}`;
    default:
      return verdict satisfies never;
  }
}
