import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { Node } from '../../kubernetes/types/node.ts';
import { nodes } from '../../kubernetes/resources.ts';
import { isTransientError } from '../../kubernetes/client/wait.ts';
import type { CallContext } from '../call.ts';
import { ProductError } from '../../errors/product-error.ts';

const maxPauseMs = 5_000;

/**
 * Reads the node with one GET. The Ready condition carries a time of the cluster, so it is compared with the
 * Date header of the API server. With the local clock, a laptop that is two minutes ahead would force-delete
 * a VM after one second of silence. If the server sends no time, or the role may not read nodes, no node
 * counts as lost, and waits end at their deadlines.
 */
export async function readNodeState(call: CallContext, name: string): Promise<NodeState> {
  try {
    const node = await call.api.get<Node>({ resource: nodes, name });
    return nodeState(node, serverTime(call), call.config.deadlines.lostNode * 1000);
  } catch (error) {
    if (isApiError(error, 404)) return { kind: 'out of service' };
    if (isApiError(error, 403)) return { kind: 'answers' };
    throw error;
  }
}

const serverTime = ({ api, clock }: CallContext): number | undefined =>
  api.serverTime === undefined ? clock.now() : api.serverTime();

/**
 * Polls the node again. A failed read is ignored: a restarting API server knows nothing about the node, and
 * the wait has a deadline.
 */
async function pollNode(call: CallContext, name: string): Promise<NodeState> {
  try {
    return await readNodeState(call, name);
  } catch (error) {
    if (isTransientError(error)) return { kind: 'answers' };
    throw error;
  }
}

export interface NodeWatch<T> {
  readonly nodeName: string;
  /** The wait. Its signal is aborted when the result is no longer needed. */
  readonly work: (signal: AbortSignal) => Promise<T>;
  /**
   * Called once when the node is found to be lost. It either rejects, which ends the wait, or changes the
   * cluster so that the wait can complete.
   */
  readonly whenLost: (lost: LostNode) => Promise<void>;
  /**
   * Called once when the node is found to be out of service. Default: the wait goes on, because the cluster
   * removes its pods.
   */
  readonly whenOutOfService?: () => Promise<void>;
}

/**
 * Runs `work` and polls the node every few seconds. The first poll comes after a pause, so short waits cost
 * no extra request.
 */
export async function whileNodeAnswers<T>(call: CallContext, watch: NodeWatch<T>): Promise<T> {
  const finished = new AbortController();
  const working = watch.work(finished.signal);
  const looking = pollUntilSilent(call, watch, finished.signal);
  try {
    return await Promise.race([working, looking.then(() => working)]);
  } finally {
    finished.abort();
    // errors of either after the end are ignored
    working.catch(() => undefined);
    looking.catch(() => undefined);
  }
}

async function pollUntilSilent<T>(
  call: CallContext,
  watch: NodeWatch<T>,
  signal: AbortSignal,
): Promise<void> {
  const pauseMs = Math.min(maxPauseMs, call.config.deadlines.lostNode * 500);
  for (;;) {
    await call.clock.sleep(pauseMs, signal);
    if (signal.aborted) return;
    const state = await pollNode(call, watch.nodeName);
    switch (state.kind) {
      case 'answers':
        break;
      case 'out of service':
        return watch.whenOutOfService?.();
      case 'lost':
        return watch.whenLost(state);
      default:
        state satisfies never;
    }
  }
}

export interface LostNode {
  readonly kind: 'lost';
  readonly name: string;
  /** RFC 3339. */
  readonly since: string;
  /** The state that Kubernetes reports. */
  readonly message: string;
}

/**
 * The state of a node for a caller that waits for one of its pods. `answers`: it answers, or has been silent
 * for a short time only. `out of service`: it was deleted or tainted out-of-service, and the
 * cluster removes its pods by itself. `lost`: it has been silent for long, and no operator has declared it
 * out of service: its containers may still run.
 */
export type NodeState = { readonly kind: 'answers' } | { readonly kind: 'out of service' } | LostNode;

export const outOfServiceTaint = 'node.kubernetes.io/out-of-service';

/**
 * Derives the state from the Node object. Times are in milliseconds. `now` is the cluster's clock, like the
 * times in the object. If it is undefined, no node is lost.
 */
export function nodeState(node: Node, now: number | undefined, lostAfterMs: number): NodeState {
  if ((node.spec?.taints ?? []).some(({ key }) => key === outOfServiceTaint))
    return { kind: 'out of service' };
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready === undefined || ready.status === 'True') return { kind: 'answers' };
  const since = ready.lastTransitionTime ?? '';
  const silentMs = (now ?? Number.NaN) - Date.parse(since);
  // not a number if either time is not known
  if (!(silentMs >= lostAfterMs)) return { kind: 'answers' };
  return {
    ...{ kind: 'lost', name: node.metadata.name, since },
    message: [ready.reason, ready.message].filter((word) => word !== undefined && word !== '').join(': '),
  };
}

interface NodeLoss {
  /** Resources that may still be in use on the node: `disk 'disk-1'`. */
  readonly stakes: readonly string[];
  /** True if the objects in question are being deleted: Kubernetes then completes the deletion by itself. */
  readonly isDeleting: boolean;
}

/**
 * Returns a NODE_LOST that names what could not be done (`VM 'vm-1' was not removed by force`), why the node
 * counts as lost, what may still be in use there, the command by which an operator declares the node dead,
 * and what to do if the node comes back.
 */
export function lostNodeError(
  what: string,
  { name, since, message: reason }: LostNode,
  { stakes, isDeleting }: NodeLoss,
): ProductError {
  const risk = stakes.length === 0 ? '' : `; ${stakes.join(' and ')} may still be in use on it`;
  return new ProductError(
    'NODE_LOST',
    `${what}: its node '${name}' has not answered since ${since} (${reason})${risk}. ` +
      `If the node will not come back, run "kubectl taint nodes ${name} ${outOfServiceTaint}=nodeshutdown:NoExecute" and try again; ` +
      `if it comes back, ${isDeleting ? 'the deletion goes on by itself' : 'run the call again'}`,
  );
}
