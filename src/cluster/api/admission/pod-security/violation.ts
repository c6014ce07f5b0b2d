import type { Container, Pod } from '../../../../kubernetes/pod.ts';
import { allContainers } from '../../kinds/pod/pod-defaults.ts';

/** What a pod does that a level forbids: `privileged`, and who does it. */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export type SecurityCheck = (pod: Pod) => Violation | undefined;

/** The names of the containers that do it, init containers first, as upstream visits them. */
export function containersMatching(pod: Pod, predicate: (container: Container) => boolean): string[] {
  return allContainers(pod.spec)
    .filter(predicate)
    .map(({ name }) => name);
}

/** `container "a"`, `containers "a", "b"` */
export function named(what: string, names: readonly string[]): string {
  return `${plural(what, names.length)} ${quoted(names)}`;
}

/** `pod and container "a"`: whoever sets something bad. */
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

/** Each once, sorted. */
export function uniqueSorted(items: readonly string[]): string[] {
  return [...new Set(items)].toSorted();
}
