import { oneLine } from '../../errors/text.ts';
import { fullName } from '../../inventory/bosh-name.ts';
import type { StatusView } from './status-tables.ts';

/** Returns a line for each object, and each problem, that has appeared, changed or disappeared. */
export function describeChanges(before: StatusView, after: StatusView): string[] {
  const [old, current] = [statesOf(before), statesOf(after)];
  const keys = [...new Set([...old.keys(), ...current.keys()])];
  const lines = keys
    .filter((key) => old.get(key) !== current.get(key))
    .map((key) => `${key}: ${old.get(key) ?? 'new'} -> ${current.get(key) ?? 'deleted'}`);
  const [known, existing] = [before, after].map(({ problems }) => new Set(problems.map(textOf)));
  const solved = before.problems.filter((each) => !existing?.has(textOf(each)));
  const found = after.problems.filter((each) => !known?.has(textOf(each)));
  return [
    ...lines,
    ...solved.map((each) => `problem solved: ${textOf(each)}`),
    ...found.map((each) => `problem: ${textOf(each)}; next: ${each.next}`),
  ].map(oneLine);
}

const textOf = ({ kind, object, problem }: StatusView['problems'][number]): string =>
  `${kind} ${object}: ${problem}`;

/**
 * The name and state of each object, by its kind and its cid, because a VM gets its name after its creation.
 */
function statesOf({
  inventory: { vms, disks, snapshots, networks },
}: StatusView): ReadonlyMap<string, string> {
  return new Map([
    ...vms.map(
      ({ cid, name, state, node, addresses, restarts }) =>
        [
          `VM ${cid}`,
          [fullName(name), state, node, ...addresses, ...(restarts > 0 ? [`${restarts} restarts`] : [])]
            .filter((each) => each !== undefined)
            .join(', '),
        ] as const,
    ),
    ...disks.map(
      ({ cid, state, size, vm }) =>
        [
          `disk ${cid}`,
          `${state}, ${size}, ${vm === undefined ? 'not attached' : `attached to ${vm}`}`,
        ] as const,
    ),
    ...snapshots.map(({ cid, state }) => [`snapshot ${cid}`, state] as const),
    ...networks.map(
      ({ cid, isTerminating }) => [`network ${cid}`, isTerminating ? 'Terminating' : 'exists'] as const,
    ),
  ]);
}
