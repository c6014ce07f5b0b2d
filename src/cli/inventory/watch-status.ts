import { findProblems } from '../../inventory/find-problems.ts';
import { takeInventory } from '../../inventory/inventory.ts';
import {
  type ListName,
  type Namespaces,
  type ObjectLists,
  statusLists,
} from '../../inventory/object-lists.ts';
import { watchLists } from '../../inventory/watch-lists.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { clockDifference, timestamp } from '../../kubernetes/timestamp.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Terminal } from '../output/terminal.ts';
import { type StatusView, statusText } from './status-tables.ts';
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
 * read fails.
 */
export async function watchStatus(options: WatchStatusOptions): Promise<void> {
  const { terminal } = options;
  if (terminal.screen === undefined) return printChanges(options);
  try {
    await drawStatus(options, terminal.screen);
  } finally {
    terminal.screen.close();
  }
}

async function drawStatus(
  { api, namespaces, clock, signal, details }: WatchStatusOptions,
  screen: NonNullable<Terminal['screen']>,
): Promise<void> {
  let draw = (): void => undefined;
  let difference: number | undefined;
  screen.onResize(() => draw());
  for await (const { lists, failure } of watchLists(api, namespaces, statusLists, {
    clock,
    signal,
    refreshMs,
  })) {
    difference ??= clockDifference(api, clock);
    const view = toStatusView(lists, clock.now() + difference);
    const lost =
      failure === undefined ? '' : `\nNOT UP TO DATE since ${timestamp(failure.since)}: ${failure.reason}`;
    draw = () => {
      const { columns: width } = screen.size();
      const title = `${timestamp(clock.now())}  Ctrl-C ends${lost}`;
      screen.draw(`${title}\n\n${statusText(view, { width, details })}`);
    };
    draw();
  }
}

async function printChanges({ api, namespaces, terminal, clock, signal }: WatchStatusOptions): Promise<void> {
  let before: StatusView | undefined;
  let difference: number | undefined;
  let reported: string | undefined;
  for await (const { lists, failure } of watchLists(api, namespaces, statusLists, {
    clock,
    signal,
    refreshMs,
  })) {
    difference ??= clockDifference(api, clock);
    const view = toStatusView(lists, clock.now() + difference);
    const time = timestamp(clock.now());
    if (before === undefined) terminal.out(statusText(view, { width: Infinity, details: true }));
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
  now: number,
  names: readonly ListName[] = statusLists,
): StatusView {
  const inventory = takeInventory(lists);
  return {
    inventory,
    problems: findProblems(inventory, lists, now),
    unread: names.filter((name) => lists[name] === undefined),
    now,
  };
}
