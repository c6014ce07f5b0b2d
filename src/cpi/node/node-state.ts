import type { Node } from '../../kubernetes/node.ts';

export interface LostNode {
  readonly kind: 'lost';
  readonly name: string;
  /** RFC 3339. */
  readonly since: string;
  /** What Kubernetes says about it. */
  readonly words: string;
}

/**
 * How a node stands to somebody who waits for one of its pods.
 * `answers`: it does, or has been silent for a short time only. `given up`: it was deleted or tainted out-of-service, and
 * the cluster removes its pods by itself. `lost`: it has been silent for long, and nobody has said that it is down:
 * what runs there may still run.
 */
export type NodeState = { readonly kind: 'answers' } | { readonly kind: 'given up' } | LostNode;

export const outOfService = 'node.kubernetes.io/out-of-service';

/**
 * Decides on the Node object. Milliseconds; `now` is the cluster's clock, as the times in the object are, undefined where it is
 * not known: then no node is lost. Pure.
 */
export function nodeState(node: Node, now: number | undefined, lostAfterMs: number): NodeState {
  if ((node.spec?.taints ?? []).some(({ key }) => key === outOfService)) return { kind: 'given up' };
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined || ready.status === 'True') return { kind: 'answers' };
  const since = ready.lastTransitionTime ?? '';
  const silentMs = (now ?? Number.NaN) - Date.parse(since);
  // not a number where either time is not known
  if (!(silentMs >= lostAfterMs)) return { kind: 'answers' };
  return {
    ...{ kind: 'lost', name: node.metadata.name ?? '', since },
    words: [ready.reason, ready.message].filter((word) => word !== undefined && word !== '').join(': '),
  };
}
