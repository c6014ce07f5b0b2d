import { throwIfInterrupted } from '../../errors/throw-if-interrupted.ts';
import { deleteOrphan } from '../../inventory/delete-orphan.ts';
import { findUnknownNamespaces } from '../../inventory/find-unknown-namespaces.ts';
import { type Orphan, listOrphans } from '../../inventory/find-orphans.ts';
import { type DeletableOrphan, isDeletable, judgeOrphan } from '../../inventory/judge-orphan.ts';
import type { ListName, ObjectLists } from '../../inventory/object-lists.ts';
import type { CallContext } from '../../inventory/open-call.ts';
import { type RecordedUse, joinUse, useOfDirector, useOfStates } from '../../inventory/recorded-use.ts';
import { clockDifference } from '../../kubernetes/timestamp.ts';
import type { Clock } from '../../platform/clock.ts';
import type { OrphansArguments } from '../args/orphans-arguments.ts';
import type { CommandContext } from '../command.ts';
import { formatTable } from '../output/table.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import { formatAge } from './format-age.ts';
import { type JudgedOrphan, printOrphans } from './orphan-report.ts';
import { readDirectorList, readRecordedState } from './read-recorded-use.ts';

export interface CleanTarget {
  /** The context in which objects are read and deleted. */
  readonly call: CallContext;
  /** The clock to which ages and the times of files are compared. */
  readonly clock: Clock;
}

type Operator = Pick<CommandContext, 'terminal' | 'signal'>;

interface DeletingOperator extends Operator {
  readonly force: boolean;
  /** The server's time when the orphans were listed. */
  readonly now: number;
}

/**
 * Lists the orphans. With `delete` it deletes those that the records show not to be in use, after a question
 * for each kind. Returns the exit code: 1 if an object that was to be deleted stays, or if orphans may be
 * missing because the account may not list them. A run that is killed has deleted some of them; the next one
 * lists the others.
 */
export async function cleanOrphans(
  target: CleanTarget,
  values: OrphansArguments,
  operator: Operator,
): Promise<number> {
  const { call, clock } = target;
  const { api } = call;
  const namespaces = { vms: call.namespace, disks: call.diskNamespace };
  const records = await readRecords(values, clock);
  const { found, unread, lists, unknownNamespaces } = await withLiveProgress(
    operator.terminal,
    'Reading the cluster',
    async () => {
      const listed = await listOrphans(api, namespaces);
      return {
        ...listed,
        unknownNamespaces: await findUnknownNamespaces(api, namespaces, listed.lists),
      };
    },
  );
  const clockDifferenceMs = clockDifference(api, clock);
  const use = records?.(lists);
  const judged = found.map((orphan) => ({
    orphan,
    verdict: use === undefined ? undefined : judgeOrphan(orphan, { use, clockDifferenceMs }),
  }));
  const now = clock.now() + clockDifferenceMs;
  printOrphans(operator.terminal, { judged, unread, unknownNamespaces, now });
  const isDone =
    !values.delete || (await deleteUnused(call, judged, { ...operator, force: values.force, now }));
  return isDone && unknownNamespaces.length === 0 && isComplete(unread) ? 0 : 1;
}

/** Not each account may list PersistentVolumes, which belong to no namespace. */
const isComplete = (unread: readonly ListName[]): boolean => unread.every((name) => name === 'volumes');

/** Reads all records before the first request. Undefined if none was given. */
async function readRecords(
  { statePaths, listPaths }: OrphansArguments,
  clock: Clock,
): Promise<((cluster: ObjectLists) => RecordedUse) | undefined> {
  if (statePaths.length + listPaths.length === 0) return undefined;
  const states = await Promise.all(statePaths.map((path) => readRecordedState(path, clock)));
  const lists = await Promise.all(listPaths.map((path) => readDirectorList(path, clock)));
  return (cluster) => joinUse(useOfStates(states), useOfDirector(lists, cluster));
}

/** Disks are last: a VM or a snapshot that is deleted before them cannot need them any more. */
const kindsInOrder: readonly DeletableOrphan['what'][] = ['VM', 'snapshot', 'disk'];

/** Returns false if an object that was to be deleted stays. */
async function deleteUnused(
  call: CallContext,
  judged: readonly JudgedOrphan[],
  operator: DeletingOperator,
): Promise<boolean> {
  const { terminal, signal } = operator;
  const unused = judged.flatMap(({ verdict, orphan }) =>
    verdict?.is === 'unused' && isDeletable(orphan) ? [orphan] : [],
  );
  if (unused.length === 0) {
    terminal.out('Nothing was deleted: no object was shown not to be in use.\n');
    return true;
  }
  let isDone = true;
  for (const kind of kindsInOrder) {
    const group = unused.filter(({ what }) => what === kind);
    if (group.length === 0) continue;
    if (!(await isConfirmed(kind, group, operator))) {
      isDone = false;
      continue;
    }
    for (const orphan of group) {
      throwIfInterrupted(signal);
      const deleting = `Deleting ${kind} '${orphan.name}'`;
      const reason = await withLiveProgress(terminal, deleting, () => deleteOrphan(call, orphan));
      if (reason === undefined) terminal.out(`Deleted ${kind} '${orphan.name}'.\n`);
      else terminal.error(`${kind} '${orphan.name}' stays: ${reason}`);
      if (reason !== undefined) isDone = false;
    }
  }
  return isDone;
}

/** Shows the objects with their sizes and ages, and asks. */
async function isConfirmed(
  kind: DeletableOrphan['what'],
  group: readonly Orphan[],
  { terminal, signal, force, now }: DeletingOperator,
): Promise<boolean> {
  if (force) return true;
  const what = `${group.length} ${kind}${group.length === 1 ? '' : 's'}`;
  if (!terminal.canAsk) {
    terminal.error(
      `${what} stay${group.length === 1 ? 's' : ''}: input is not a terminal. Use --force to delete without a question.`,
    );
    return false;
  }
  const rows = group.map(({ name, size, createdAt }) => [name, size ?? '-', formatAge(createdAt, now)]);
  terminal.out(`\n${formatTable([kind, 'Size', 'Age'], rows)}\n`);
  const answer = await terminal.ask(`Delete ${what}? [yes/no] `, signal);
  if (answer?.trim().toLowerCase() === 'yes') return true;
  terminal.error(`${answer === undefined ? '\n' : ''}No ${kind} was deleted.`);
  return false;
}
