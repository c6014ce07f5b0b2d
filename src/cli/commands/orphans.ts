import { deleteOrphan } from '../../inventory/delete-orphan.ts';
import { type Orphan, listOrphans } from '../../inventory/find-orphans.ts';
import { type DeletableKind, judgeOrphan } from '../../inventory/judge-orphan.ts';
import type { Namespaces, ObjectLists } from '../../inventory/object-lists.ts';
import { openCall } from '../../inventory/open-call.ts';
import { type RecordedUse, joinUse, useOfDirector, useOfStates } from '../../inventory/recorded-use.ts';
import type { Access } from '../../kubernetes/access/access.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { clockDifference } from '../../kubernetes/timestamp.ts';
import { systemClock } from '../../platform/clock.ts';
import { type OrphansArguments, orphansUsage, parseOrphansArguments } from '../args/orphans-arguments.ts';
import { embeddedCluster } from '../cluster/embedded-cluster.ts';
import { chooseKubeconfig, withKubernetes } from '../cluster/kubeconfig.ts';
import type { Command, CommandContext } from '../command.ts';
import { formatAge } from '../inventory/format-age.ts';
import { type JudgedOrphan, printOrphans } from '../inventory/orphan-report.ts';
import { readDirectorList, readRecordedState } from '../inventory/read-recorded-use.ts';
import { formatTable } from '../output/terminal.ts';

/**
 * Shows what a killed CPI call, or a user who deleted a VM's pod, may have left, and what can be done about
 * it. With `--delete` it deletes, after a question for each kind, the VMs, disks and snapshots that the given
 * records show not to be in use. The exit code is 3 if the embedded cluster does not run, and 1 if an object
 * that was to be deleted stays.
 */
export const orphans: Command = {
  name: 'orphans',
  usage: orphansUsage,
  summary: 'List VMs, disks, snapshots, copies, attachments and released volumes that calls may have left',
  json: true,
  documentation: 'docs/status.md',
  async run(args, context) {
    const values = parseOrphansArguments(args);
    const { installation, terminal, secrets, environment } = context;
    const kubeconfig = chooseKubeconfig(values.kubeconfig, installation.clusterDirectory, environment);
    if (kubeconfig.isEmbedded && !(await embeddedCluster(installation).isRunning())) {
      terminal.error('the embedded cluster does not run; start it with: bosh-kubernetes cluster start');
      return 3;
    }
    return withKubernetes(
      kubeconfig.path,
      (api, access) => {
        const vms = values.namespace ?? access.namespace;
        const namespaces = { vms, disks: values['disk-namespace'] ?? vms };
        return listAndDelete({ api, access, namespaces }, values, context);
      },
      { environment, onSecrets: secrets.add },
    );
  },
};

interface Target {
  readonly api: KubernetesApi;
  readonly access: Access;
  readonly namespaces: Namespaces;
}

async function listAndDelete(target: Target, values: OrphansArguments, context: CommandContext): Promise<number> {
  const { api, namespaces } = target;
  const records = await readRecords(values);
  const { found, unread, lists } = await listOrphans(api, namespaces);
  const clockDifferenceMs = clockDifference(api, systemClock);
  const use = records?.(lists);
  const judged = found.map((orphan) => ({
    orphan,
    verdict: use === undefined ? undefined : judgeOrphan(orphan, { use, clockDifferenceMs }),
  }));
  printOrphans(context.terminal, { judged, unread, now: systemClock.now() + clockDifferenceMs });
  return values.delete ? deleteUnused(target, judged, { ...context, force: values.force }) : 0;
}

/** Reads all records before the first request. Undefined if none was given. */
async function readRecords({
  statePaths,
  listPaths,
}: OrphansArguments): Promise<((cluster: ObjectLists) => RecordedUse) | undefined> {
  if (statePaths.length + listPaths.length === 0) return undefined;
  const states = await Promise.all(statePaths.map((path) => readRecordedState(path, systemClock)));
  const lists = await Promise.all(listPaths.map((path) => readDirectorList(path, systemClock)));
  return (cluster) => joinUse(useOfStates(states), useOfDirector(lists, cluster));
}

/** Disks are last: a VM or a snapshot that is deleted before them cannot need them any more. */
const kindsInOrder: readonly DeletableKind[] = ['VM', 'snapshot', 'disk'];

async function deleteUnused(
  { api, access, namespaces }: Target,
  judged: readonly JudgedOrphan[],
  context: CommandContext & { readonly force: boolean },
): Promise<number> {
  const { terminal, signal } = context;
  const unused = judged.filter(({ verdict }) => verdict?.is === 'unused').map(({ orphan }) => orphan);
  if (unused.length === 0) {
    terminal.out('Nothing was deleted: no object was shown not to be in use.\n');
    return 0;
  }
  const call = openCall(api, access, namespaces, terminal.error);
  let exitCode = 0;
  for (const kind of kindsInOrder) {
    const group = unused.filter(({ what }) => what === kind);
    if (group.length === 0) continue;
    if (!(await isConfirmed(kind, group, context))) {
      exitCode = 1;
      continue;
    }
    for (const orphan of group) {
      signal.throwIfAborted();
      const reason = await deleteOrphan(call, orphan);
      if (reason === undefined) terminal.out(`Deleted ${kind} '${orphan.name}'.\n`);
      else terminal.error(`${kind} '${orphan.name}' stays: ${reason}`);
      if (reason !== undefined) exitCode = 1;
    }
  }
  return exitCode;
}

/** Shows the objects with their sizes and ages, and asks. */
async function isConfirmed(
  kind: DeletableKind,
  group: readonly Orphan[],
  { terminal, signal, force }: CommandContext & { readonly force: boolean },
): Promise<boolean> {
  if (force) return true;
  const what = `${group.length} ${kind}${group.length === 1 ? '' : 's'}`;
  if (!terminal.canAsk) {
    terminal.error(`${what} stay: input is not a terminal. Use --force to delete without a question.`);
    return false;
  }
  const now = systemClock.now();
  const rows = group.map(({ name, size, createdAt }) => [name, size ?? '-', formatAge(createdAt, now)]);
  terminal.out(`\n${formatTable([kind, 'Size', 'Age'], rows)}\n`);
  const answer = await terminal.ask(`Delete ${what}? [yes/no] `, signal);
  if (answer?.trim().toLowerCase() === 'yes') return true;
  terminal.error(`${answer === undefined ? '\n' : ''}No ${kind} was deleted.`);
  return false;
}
