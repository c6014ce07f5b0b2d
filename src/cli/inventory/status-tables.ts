import type { Problem } from '../../inventory/problem.ts';
import type { DiskItem, Inventory, NetworkItem, SnapshotItem, VmItem } from '../../inventory/inventory.ts';
import { fullName } from '../../inventory/bosh-name.ts';
import type { JobsOfVm } from '../../inventory/jobs-of-vm.ts';
import type { ListName } from '../../inventory/object-lists.ts';
import { oneLine } from '../../errors/text.ts';
import { type Cell, type OutputTable, formatForTerminal, wrapText } from '../output/table.ts';
import { type Column, fitColumns, tableOf } from './fit-columns.ts';
import { formatAge } from './format-age.ts';

export interface StatusView {
  readonly inventory: Inventory;
  readonly problems: readonly Problem[];
  /** The lists that the account may not read. */
  readonly unread: readonly ListName[];
  /** The namespaces of which it is not known whether they exist. */
  readonly unknownNamespaces: readonly string[];
  /** Absent if the state was not requested from an agent. */
  readonly jobs?: JobsOfVm | undefined;
  /** Milliseconds since the epoch, by the clock of the server. */
  readonly now: number;
}

export interface TextOptions {
  /** The number of columns of the terminal; Infinity for a pipe. */
  readonly width: number;
  /** Shows all columns, whatever the width. */
  readonly details: boolean;
}

const orDash = (text: string | undefined): string => (text === undefined || text === '' ? '-' : text);

/** Cuts the uuid in a cid, for a table in which the other columns identify the object. */
const shortCid = (cid: string): string => cid.replace(/(?<=^[a-z]+-[0-9a-f]{8})-[0-9a-f-]{27}$/u, '…');

function vmColumns({ jobs, now }: StatusView, details: boolean, isWhole = details): Column<VmItem>[] {
  const basic: Column<VmItem>[] = [
    { title: 'Instance', rank: 0, cell: ({ name, cid }) => fullName(name) ?? cid },
    { title: 'Pod', rank: 0, cell: ({ state }) => state },
    ...(jobs === undefined ? [] : [jobsColumn(jobs)]),
    { title: 'Restarts', rank: 4, cell: ({ restarts }) => String(restarts) },
    { title: 'Node', rank: 3, cell: ({ node }) => orDash(node) },
    { title: 'Address', rank: 2, cell: ({ addresses }) => orDash(addresses.join(', ')) },
    { title: 'Age', rank: 1, cell: ({ createdAt }) => formatAge(createdAt, now) },
    { title: 'VM', rank: 5, cell: ({ cid }) => (isWhole ? cid : shortCid(cid)) },
  ];
  const further: Column<VmItem>[] = [
    { title: 'ID', rank: 6, cell: ({ name }) => orDash(name.id) },
    { title: 'Agent', rank: 6, cell: ({ agentId }) => orDash(agentId) },
    { title: 'Disks', rank: 6, cell: ({ disks }) => orDash(disks.join(', ')) },
  ];
  return details ? [...basic, ...further] : basic;
}

const jobsColumn = ({ vm, state = 'unknown' }: JobsOfVm): Column<VmItem> => ({
  ...{ title: 'Jobs', rank: 0 },
  cell: ({ cid }) => (cid === vm ? state : '-'),
});

/** Gives the tables for programs the same columns, whether a state was requested from an agent or not. */
const noJobs: JobsOfVm = { vm: '', state: undefined };

function diskColumns(
  { inventory: { vms }, now }: StatusView,
  details: boolean,
  isWhole = details,
): Column<DiskItem>[] {
  const nameOf = new Map(vms.map(({ cid, name }) => [cid, fullName(name)]));
  const basic: Column<DiskItem>[] = [
    { title: 'Disk', rank: 0, cell: ({ cid }) => (isWhole ? cid : shortCid(cid)) },
    { title: 'Size', rank: 2, cell: ({ size }) => size },
    { title: 'State', rank: 1, cell: ({ state }) => state },
    {
      title: 'Attached to',
      rank: 0,
      cell: ({ vm, unclaimed }) =>
        vm === undefined ? (unclaimed ? 'unclaimed' : '-') : (nameOf.get(vm) ?? vm),
    },
    { title: 'Of', rank: 3, cell: ({ name }) => orDash(fullName(name)) },
    { title: 'Age', rank: 4, cell: ({ createdAt }) => formatAge(createdAt, now) },
  ];
  const further: Column<DiskItem>[] = [
    { title: 'VM', rank: 5, cell: ({ vm }) => orDash(vm) },
    { title: 'Class', rank: 5, cell: ({ storageClass }) => orDash(storageClass) },
  ];
  return details ? [...basic, ...further] : basic;
}

const snapshotColumns = (now: number, isWhole: boolean): Column<SnapshotItem>[] => [
  { title: 'Snapshot', rank: 0, cell: ({ cid }) => (isWhole ? cid : shortCid(cid)) },
  { title: 'State', rank: 0, cell: ({ state }) => state },
  { title: 'Size', rank: 2, cell: ({ size }) => orDash(size) },
  { title: 'Of disk', rank: 3, cell: ({ disk }) => orDash(disk && (isWhole ? disk : shortCid(disk))) },
  { title: 'Of', rank: 4, cell: ({ name }) => orDash(fullName(name)) },
  { title: 'Age', rank: 1, cell: ({ createdAt }) => formatAge(createdAt, now) },
];

const networkColumns = (now: number): Column<NetworkItem>[] => [
  { title: 'Network', rank: 0, cell: ({ cid }) => cid },
  { title: 'Kind', rank: 2, cell: ({ kind }) => kind },
  { title: 'Range', rank: 1, cell: ({ range }) => orDash(range) },
  { title: 'Age', rank: 3, cell: ({ createdAt }) => formatAge(createdAt, now) },
];

/** Returns all tables with all columns, for `--json`. */
export function statusTables(view: StatusView): OutputTable[] {
  const { inventory, problems, now } = view;
  const table = <T>(content: string, columns: readonly Column<T>[], items: readonly T[]): OutputTable => ({
    content,
    ...tableOf(columns, items),
  });
  const problemColumns: Column<Problem>[] = [
    { title: 'Kind', rank: 0, cell: ({ kind }) => kind },
    { title: 'Object', rank: 0, cell: ({ object }) => object },
    { title: 'Name', rank: 0, cell: ({ name }) => orDash(name) },
    { title: 'Severity', rank: 0, cell: ({ severity }) => severity },
    { title: 'Problem', rank: 0, cell: ({ problem }) => problem },
    { title: 'Next step', rank: 0, cell: ({ next }) => next },
  ];
  return [
    table('problems', problemColumns, problems),
    table('vms', vmColumns({ ...view, jobs: view.jobs ?? noJobs }, true), inventory.vms),
    table('disks', diskColumns(view, true), inventory.disks),
    table('snapshots', snapshotColumns(now, true), inventory.snapshots),
    table('networks', networkColumns(now), inventory.networks),
  ];
}

/** Returns the lines for people: problems with their next steps, then the tables, as wide as the terminal. */
export function statusLines(view: StatusView, { width, details }: TextOptions): Cell[] {
  const { inventory, problems, now } = view;
  // A program that reads the output needs whole cids.
  const isWhole = details || width === Infinity;
  const table = <T>(columns: readonly Column<T>[], items: readonly T[], isOptional = false): Cell[][] => {
    if (isOptional && items.length === 0) return [];
    const fitting = details ? columns : fitColumns(columns, items, width);
    return [formatForTerminal(tableOf(fitting, items), width).trimEnd().split('\n')];
  };
  const notes = statusNotes(view).flatMap((note) => wrapText(note, width));
  const parts: Cell[][] = [
    ...(problems.length === 0 ? [] : [problems.flatMap((problem) => problemLines(problem, width))]),
    ...table(vmColumns(view, details, isWhole), inventory.vms),
    ...table(diskColumns(view, details, isWhole), inventory.disks),
    ...table(snapshotColumns(now, isWhole), inventory.snapshots, true),
    ...table(networkColumns(now), inventory.networks, true),
    ...(notes.length === 0 ? [] : [notes]),
  ];
  return parts.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

function problemLines({ kind, object, name, problem, next, severity }: Problem, width: number): Cell[] {
  const title = `${kind} '${object}'${name === undefined ? '' : ` (${name})`}: ${problem}`;
  const indented = (text: string): string[] =>
    wrapText(oneLine(text), width - indent.length).map((line) => `${indent}${line}`);
  const tone = severity === 'error' ? 'failed' : 'warning';
  return [
    ...indented(title).map((text, index) => ({ text: index === 0 ? text.trimStart() : text, tone }) as const),
    ...indented(`next: ${next}`),
  ];
}

const indent = ' '.repeat(4);

/** What is not known if a list may not be read. */
const unreadNotes: Readonly<Partial<Record<ListName, string>>> = {
  vmPods: 'VMs are not known: the kubeconfig does not allow listing pods.',
  diskPods:
    'Attachments are not known: the kubeconfig does not allow listing pods in the namespace of the disks.',
  claims: 'Disks are not known: the kubeconfig does not allow listing PersistentVolumeClaims.',
  snapshots: 'Snapshots are not known: the kubeconfig does not allow listing VolumeSnapshots.',
  policies: 'Networks are not known: the kubeconfig does not allow listing NetworkPolicies.',
  definitions: 'Networks are not known: the kubeconfig does not allow listing NetworkAttachmentDefinitions.',
  vmSecrets: 'VMs without a pod are not known: the kubeconfig does not allow listing Secrets.',
  nodes: 'Lost nodes are not known: the kubeconfig does not allow listing nodes.',
  quotas: 'Quotas are not known: the kubeconfig does not allow listing ResourceQuotas.',
  warnings: 'Warnings are not known: the kubeconfig does not allow listing events.',
  diskWarnings:
    'Warnings about disks are not known: the kubeconfig does not allow listing events in the namespace of the disks.',
};

/** Returns a sentence for each thing that is not known. */
export const statusNotes = ({ unread, unknownNamespaces, jobs }: StatusView): string[] => [
  ...unknownNamespaces.map(unknownNamespaceNote),
  ...unread.flatMap((name) => unreadNotes[name] ?? []),
  ...(jobs?.reason === undefined
    ? []
    : [`The jobs of VM '${jobs.vm}' are not known: ${oneLine(jobs.reason)}`]),
];

export const unknownNamespaceNote = (name: string): string =>
  `Whether namespace '${name}' exists is not known: no object was found in it, and the kubeconfig does not allow reading it ` +
  '(the verb get for namespaces).';

/**
 * The lists that explain problems. Not each account may read them, and the tables are complete without them.
 */
const explanations: readonly ListName[] = ['nodes', 'quotas', 'warnings', 'diskWarnings'];

/** Returns false if the tables may lack objects because a right is missing. */
export const isComplete = ({ unread, unknownNamespaces }: StatusView): boolean =>
  unknownNamespaces.length === 0 && unread.every((name) => explanations.includes(name));
