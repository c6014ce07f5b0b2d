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

/** Decides on the Node object, undefined for one that is gone. Milliseconds. Pure. */
export function nodeState(node: Node | undefined, now: number, lostAfterMs: number): NodeState {
  if (node === undefined) return { kind: 'given up' };
  if ((node.spec?.taints ?? []).some(({ key }) => key === outOfService)) return { kind: 'given up' };
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined || ready.status === 'True') return { kind: 'answers' };
  const since = ready.lastTransitionTime ?? '';
  if (Number.isNaN(Date.parse(since)) || now - Date.parse(since) < lostAfterMs) return { kind: 'answers' };
  return {
    ...{ kind: 'lost', name: node.metadata.name ?? '', since },
    words: [ready.reason, ready.message].filter((word) => word !== undefined && word !== '').join(': '),
  };
}
