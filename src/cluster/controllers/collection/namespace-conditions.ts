import type { KubernetesObject } from '../../../kubernetes/object.ts';

/** Objects of one resource that a namespace's end still waits for. */
export interface Remaining {
  /** `pods.`, `deployments.apps`: the resource and its group. */
  readonly resource: string;
  readonly objects: readonly KubernetesObject[];
}

export interface NamespaceCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

const done: readonly NamespaceCondition[] = [
  ['NamespaceDeletionDiscoveryFailure', 'ResourcesDiscovered', 'All resources successfully discovered'],
  [
    'NamespaceDeletionGroupVersionParsingFailure',
    'ParsedGroupVersions',
    'All legacy kube types successfully parsed',
  ],
  [
    'NamespaceDeletionContentFailure',
    'ContentDeleted',
    'All content successfully deleted, may be waiting on finalization',
  ],
  ['NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'],
  ['NamespaceFinalizersRemaining', 'ContentHasNoFinalizers', 'All content-preserving finalizers finished'],
].map(([type = '', reason = '', message = '']) => ({ type, status: 'False', reason, message }));

/** What a Terminating namespace says of what is left in it (kubernetes: namespace/deletion/status_condition_utils.go). Pure. */
export function namespaceConditions(remaining: readonly Remaining[]): NamespaceCondition[] {
  const kinds = remaining
    .filter(({ objects }) => objects.length > 0)
    .map(({ resource, objects }) => `${resource} has ${objects.length} resource instances`);
  const counts = new Map<string, number>();
  for (const finalizer of remaining.flatMap(({ objects }) => objects.flatMap(finalizersOf)))
    counts.set(finalizer, (counts.get(finalizer) ?? 0) + 1);
  const finalizers = [...counts].map(([name, count]) => `${name} in ${count} resource instances`);
  const waiting = [
    left('NamespaceContentRemaining', 'SomeResourcesRemain', 'Some resources are remaining', kinds),
    left(
      'NamespaceFinalizersRemaining',
      'SomeFinalizersRemain',
      'Some content in the namespace has finalizers remaining',
      finalizers,
    ),
  ].flat();
  return done.map((condition) => waiting.find(({ type }) => type === condition.type) ?? condition);
}

const finalizersOf = ({ metadata }: KubernetesObject): readonly string[] => metadata.finalizers ?? [];

function left(type: string, reason: string, what: string, names: readonly string[]): NamespaceCondition[] {
  if (names.length === 0) return [];
  return [{ type, status: 'True', reason, message: `${what}: ${names.toSorted().join(', ')}` }];
}
