import type { Node } from '../../kubernetes/node.ts';

export interface LostNode {
  readonly kind: 'lost';
  readonly name: string;
  /** RFC 3339. */
  readonly since: string;
  /** The state that Kubernetes reports. */
  readonly words: string;
}

/**
 * The state of a node for a caller that waits for one of its pods. `answers`: it answers, or has been silent
 * for a short time only. `given up`: it is out of service (it was deleted or tainted out-of-service), and the
 * cluster removes its pods by itself. `lost`: it has been silent for long, and no operator has declared it
 * out of service: its containers may still run.
 */
export type NodeState = { readonly kind: 'answers' } | { readonly kind: 'given up' } | LostNode;

export const outOfService = 'node.kubernetes.io/out-of-service';

/**
 * Derives the state from the Node object. Times are in milliseconds. `now` is the cluster's clock, like the
 * times in the object. If it is undefined, no node is lost.
 */
export function nodeState(node: Node, now: number | undefined, lostAfterMs: number): NodeState {
  if ((node.spec?.taints ?? []).some(({ key }) => key === outOfService)) return { kind: 'given up' };
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined || ready.status === 'True') return { kind: 'answers' };
  const since = ready.lastTransitionTime ?? '';
  const silentMs = (now ?? Number.NaN) - Date.parse(since);
  // not a number if either time is not known
  if (!(silentMs >= lostAfterMs)) return { kind: 'answers' };
  return {
    ...{ kind: 'lost', name: node.metadata.name ?? '', since },
    words: [ready.reason, ready.message].filter((word) => word !== undefined && word !== '').join(': '),
  };
}
