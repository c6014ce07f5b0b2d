import { findProblems } from '../../inventory/find-problems.ts';
import { takeInventory } from '../../inventory/inventory.ts';
import { emptyNamespaces, findUnknownNamespaces } from '../../inventory/find-unknown-namespaces.ts';
import type { JobsOfVm } from '../../inventory/jobs-of-vm.ts';
import { type Namespaces, type ObjectLists, statusLists } from '../../inventory/object-lists.ts';
import { type WatchedLists, watchLists } from '../../inventory/watch-lists.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { clockDifference, timestamp } from '../../kubernetes/timestamp.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Display } from '../output/display.ts';
import { printLines, type Terminal } from '../output/terminal.ts';
import { type StatusView, statusLines } from './status-tables.ts';
import type { Cell } from '../output/table.ts';
import { describeChanges } from './describe-changes.ts';

/** Ages are shown, and a problem may become one by its age. */
const refreshMs = 5000;

export interface WatchStatusOptions {
  readonly api: KubernetesApi;
  readonly namespaces: Namespaces;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly details: boolean;
}

/**
 * Shows the status until the signal: on a terminal it draws it again after each change, otherwise it prints
 * the status once and then a line for each change. Survives a restart of the API server. Rejects if the first
 * read fails or a namespace does not exist.
 */
export async function watchStatus(options: WatchStatusOptions): Promise<void> {
  const { display } = options.terminal;
  if (display === undefined) return printChanges(options);
  try {
    await drawStatus(options, display);
  } finally {
    display.screen.close();
  }
}

/** Yields what `status` shows, and why it may be old, after each change until the signal is aborted. */
async function* statusViews({ api, namespaces, clock, signal }: WatchStatusOptions): AsyncGenerator<{
  readonly view: StatusView;
  readonly failure: WatchedLists['failure'];
}> {
  let difference: number | undefined;
  let unknown: readonly string[] | undefined;
  const options = { clock, signal, refreshMs };
  for await (const { lists, failure } of watchLists(api, namespaces, statusLists, options)) {
    difference ??= clockDifference(api, clock);
    unknown ??= await findUnknownNamespaces(api, namespaces, lists);
    const empty = emptyNamespaces(namespaces, lists);
    const stillUnknown = unknown.filter((name) => empty.includes(name));
    yield { view: toStatusView(lists, stillUnknown, clock.now() + difference), failure };
  }
}

async function drawStatus(options: WatchStatusOptions, display: Display): Promise<void> {
  const { clock, details } = options;
  let draw = (): void => undefined;
  const { screen } = display;
  screen.onResize(() => draw());
  for await (const { view, failure } of statusViews(options)) {
    const lost: Cell[] =
      failure === undefined
        ? []
        : [{ text: `NOT UP TO DATE since ${timestamp(failure.since)}: ${failure.reason}`, tone: 'failed' }];
    draw = () => {
      const title = `${timestamp(clock.now())}  Ctrl-C ends`;
      screen.draw([title, ...lost, '', ...statusLines(view, { width: display.columns, details })]);
    };
    draw();
  }
}

async function printChanges(options: WatchStatusOptions): Promise<void> {
  const { terminal, clock } = options;
  let before: StatusView | undefined;
  let reported: string | undefined;
  for await (const { view, failure } of statusViews(options)) {
    const time = timestamp(clock.now());
    if (before === undefined) printLines(terminal, statusLines(view, { width: Infinity, details: true }));
    else for (const line of describeChanges(before, view)) terminal.out(`${time} ${line}\n`);
    before = view;
    if (failure !== undefined && reported === undefined)
      terminal.error(`${time} the cluster cannot be read: ${failure.reason}`);
    if (failure === undefined && reported !== undefined)
      terminal.error(`${time} the cluster can be read again`);
    reported = failure?.reason;
  }
}

/** Joins the lists to what is shown. Decides without requests. */
export function toStatusView(
  lists: ObjectLists,
  unknownNamespaces: readonly string[],
  now: number,
  jobs?: JobsOfVm,
): StatusView {
  const inventory = takeInventory(lists);
  return {
    ...{ inventory, problems: findProblems(inventory, lists, now, jobs), jobs },
    unread: statusLists.filter((name) => lists[name] === undefined),
    ...{ unknownNamespaces, now },
  };
}
