import type { Container, Pod } from '../../../../src/kubernetes/types/pod.ts';
import { allContainers } from '../../kinds/pod/pod-defaults.ts';

/** One violation of a level: `privileged`, and the containers that cause it. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export type SecurityCheck = (pod: Pod) => Violation | undefined;

/** Returns the names of the matching containers, init containers first, as upstream visits them. */
export function containersMatching(pod: Pod, predicate: (container: Container) => boolean): string[] {
  return allContainers(pod.spec)
    .filter(predicate)
    .map(({ name }) => name);
}

/** Returns `container "a"` or `containers "a", "b"`. */
export function named(what: string, names: readonly string[]): string {
  return `${plural(what, names.length)} ${quoted(names)}`;
}

/** Returns `pod and container "a"`: everything that sets a forbidden value. */
export function podAndContainers(pod: boolean, containers: readonly string[]): string {
  return [...(pod ? ['pod'] : []), ...(containers.length === 0 ? [] : [named('container', containers)])].join(
    ' and ',
  );
}

export function plural(word: string, count: number): string {
  return count === 1 ? word : `${word}s`;
}

export function quoted(items: readonly string[]): string {
  return items.map((item) => `"${item}"`).join(', ');
}

/** Returns the items sorted and without duplicates. */
export function uniqueSorted(items: readonly string[]): string[] {
  return [...new Set(items)].toSorted();
}
