import { isApiError } from '../../kubernetes/api-error.ts';
import type { Node } from '../../kubernetes/node.ts';
import { nodes } from '../../kubernetes/resources.ts';
import { isTransientError } from '../../kubernetes/wait.ts';
import type { CallContext } from '../cloud.ts';
import type { LostNode, NodeState } from './node-state.ts';
import { nodeState } from './node-state.ts';

const longestPauseMs = 5_000;

/**
 * One GET. Since when the node is silent the cluster says by its own clock, so how long that is counts by the clock of the
 * server that answers, never by this machine's: a laptop two minutes ahead would have a VM removed by force for one second of
 * silence. A server that does not say its time, or a role that may not read nodes, cannot tell that one is lost: then
 * waits end at their deadlines.
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

/** A look of many: an API server that restarts says nothing about the node, and the wait has a deadline. */
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
  /** The wait; its signal says that nobody needs it any more. */
  readonly work: (signal: AbortSignal) => Promise<T>;
  /** Called once when the node is found lost: rejects to end the wait, or does what lets it come to its end. */
  readonly whenLost: (lost: LostNode) => Promise<void>;
  /** Called once when the node is found given up; absent: waiting goes on, the cluster removes its pods. */
  readonly whenGivenUp?: () => Promise<void>;
}

/**
 * Does `work` and looks at the node every few seconds meanwhile, first after some seconds: what ends soon costs no
 * request more.
 */
export async function whileNodeAnswers<T>(cloud: CallContext, watch: NodeWatch<T>): Promise<T> {
  const finished = new AbortController();
  const working = watch.work(finished.signal);
  const looking = look(cloud, watch, finished.signal);
  try {
    return await Promise.race([working, looking.then(() => working)]);
  } finally {
    finished.abort();
    // what either meets after the end is nobody's concern
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
