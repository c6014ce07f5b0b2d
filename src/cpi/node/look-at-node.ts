import { isApiError } from '../../kubernetes/api-error.ts';
import type { Node } from '../../kubernetes/node.ts';
import { nodes } from '../../kubernetes/resources.ts';
import { isTransientError } from '../../kubernetes/wait.ts';
import type { CallContext } from '../cloud.ts';
import type { LostNode, NodeState } from './node-state.ts';
import { nodeState } from './node-state.ts';

const longestPauseMs = 5_000;

/**
 * Reads the node with one GET. The Ready condition carries a time of the cluster, so it is compared with the
 * Date header of the API server. With the local clock, a laptop that is two minutes ahead would force-delete
 * a VM after one second of silence. If the server sends no time, or the role may not read nodes, no node
 * counts as lost, and waits end at their deadlines.
 */
export async function lookAtNode(cloud: CallContext, name: string): Promise<NodeState> {
  try {
    const node = await cloud.api.get<Node>({ resource: nodes, name });
    return nodeState(node, serverTime(cloud), cloud.config.deadlines.lostNode * 1000);
  } catch (error) {
    if (isApiError(error, 404)) return { kind: 'given up' };
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
async function lookAgain(cloud: CallContext, name: string): Promise<NodeState> {
  try {
    return await lookAtNode(cloud, name);
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
   * Called once when the node is found to be lost. It rejects to end the wait, or does what lets the wait
   * complete.
   */
  readonly whenLost: (lost: LostNode) => Promise<void>;
  /**
   * Called once when the node is found to be out of service. Default: the wait goes on, because the cluster
   * removes its pods.
   */
  readonly whenGivenUp?: () => Promise<void>;
}

/**
 * Runs `work` and polls the node every few seconds. The first poll comes after a pause, so short waits cost
 * no extra request.
 */
export async function whileNodeAnswers<T>(cloud: CallContext, watch: NodeWatch<T>): Promise<T> {
  const finished = new AbortController();
  const working = watch.work(finished.signal);
  const looking = look(cloud, watch, finished.signal);
  try {
    return await Promise.race([working, looking.then(() => working)]);
  } finally {
    finished.abort();
    // errors of either after the end are ignored
    working.catch(() => undefined);
    looking.catch(() => undefined);
  }
}

async function look<T>(cloud: CallContext, watch: NodeWatch<T>, signal: AbortSignal): Promise<void> {
  const pauseMs = Math.min(longestPauseMs, cloud.config.deadlines.lostNode * 500);
  for (;;) {
    await cloud.clock.sleep(pauseMs, signal);
    if (signal.aborted) return;
    const state = await lookAgain(cloud, watch.nodeName);
    switch (state.kind) {
      case 'answers':
        break;
      case 'given up':
        return watch.whenGivenUp?.();
      case 'lost':
        return watch.whenLost(state);
      default:
        state satisfies never;
    }
  }
}
