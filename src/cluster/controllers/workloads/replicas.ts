import { isDeepStrictEqual } from 'node:util';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { ApiError } from '../../../kubernetes/api-error.ts';
import { matchesLabelSelector } from '../../../kubernetes/label-selector.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { pods, replicaSets, replicationControllers } from '../../../kubernetes/resources.ts';
import type { ReplicaSet, ReplicationController } from '../../../kubernetes/workload.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import type { Informer } from '../runtime/informer.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { claim, controllerOf, ownedBy } from './owned-pods.ts';
import type { Keeper } from './owned-pods.ts';
import { isActive, surplusOf } from './pod-choice.ts';
import { replicaStatus } from './replica-status.ts';

type Set = ReplicaSet | ReplicationController;

interface SetKind {
  readonly kind: 'ReplicaSet' | 'ReplicationController';
  readonly apiVersion: string;
  readonly resource: typeof pods;
  readonly informer: (informers: ControllerContext['informers']) => Informer<Set>;
}

const replicaSetKind: SetKind = {
  kind: 'ReplicaSet',
  apiVersion: 'apps/v1',
  resource: replicaSets,
  informer: ({ replicaSets: informer }) => informer as unknown as Informer<Set>,
};

const replicationControllerKind: SetKind = {
  kind: 'ReplicationController',
  apiVersion: 'v1',
  resource: replicationControllers,
  informer: ({ replicationControllers: informer }) => informer as unknown as Informer<Set>,
};

/** Pods that fail at once must not be made as fast as the machine can. */
const failureRestMs = 10_000;

export const createReplicaSets = (context: ControllerContext): WorkQueue => create(context, replicaSetKind);
export const createReplicationControllers = (context: ControllerContext): WorkQueue =>
  create(context, replicationControllerKind);

/**
 * Keeps as many pods as a ReplicaSet or ReplicationController wants (kubernetes: pkg/controller/replicaset). What is
 * there is asked of the API and not of a copy, so that no pod is made twice.
 */
function create(
  context: ControllerContext,
  { kind, apiVersion, resource, informer: of }: SetKind,
): WorkQueue {
  const { api, clock, informers } = context;
  const informer = of(informers);
  const queue = new WorkQueue(`${kind.toLowerCase()}s`, reconcile, context);
  const recorder = context.recorder(
    kind === 'ReplicaSet' ? 'replicaset-controller' : 'replication-controller',
  );

  informer.onChange(({ key }) => queue.add(key));
  informers.pods.onChange(({ before, after }) => {
    for (const pod of [before, after]) if (pod !== undefined) addKeepers(pod);
  });

  function addKeepers(pod: Pod): void {
    const { namespace = '', labels = {} } = pod.metadata;
    const owner = controllerOf(pod);
    if (owner !== undefined) {
      if (owner.kind === kind) queue.add(`${namespace}/${owner.name}`);
      return;
    }
    for (const set of informer.list())
      if (set.metadata.namespace === namespace && selects(set, labels)) queue.add(keyOf(set));
  }

  async function reconcile(key: string): Promise<void> {
    const set = informer.get(key);
    if (set === undefined) return;
    const keeper: Keeper = { kind, apiVersion, object: set, selects: (labels) => selects(set, labels) };
    const mine = await claim<Pod>(api, pods, keeper);
    const active = mine.filter(isActive);
    const failure =
      set.metadata.deletionTimestamp === undefined ? await settleCount(set, keeper, mine, active) : undefined;
    await writeStatus(key, set, active, failure);
    if (failure !== undefined) throw failure;
  }

  /** Resolves with what kept it from having its count. */
  async function settleCount(
    set: Set,
    keeper: Keeper,
    mine: readonly Pod[],
    active: readonly Pod[],
  ): Promise<Error | undefined> {
    const missing = (set.spec.replicas ?? 1) - active.length;
    try {
      for (const pod of surplusOf(active, Math.max(0, -missing))) await remove(set, pod);
      const rest = missing > 0 ? restAfterFailure(mine) : 0;
      if (rest > 0) queue.addAfter(keyOf(set), rest);
      else for (let made = 0; made < missing; made += 1) await makePod(set, keeper);
      return undefined;
    } catch (error) {
      if (!isApiError(error) || isApiError(error, 409)) throw error;
      return isNamespaceLeaving(error) ? undefined : error;
    }
  }

  function restAfterFailure(mine: readonly Pod[]): number {
    const failed = mine.filter(({ status }) => status?.phase === 'Failed');
    const last = Math.max(...failed.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '')));
    return failed.length === 0 ? 0 : last + failureRestMs - clock.now();
  }

  async function makePod(set: Set, keeper: Keeper): Promise<void> {
    const { metadata: { labels = {}, annotations = {} } = {}, spec } = set.spec.template;
    const { namespace = '', name = '' } = set.metadata;
    const subject = { kind, apiVersion, object: set };
    try {
      const pod = await api.create<Pod>(pods, {
        metadata: {
          ...{ namespace, generateName: `${name}-`, labels: { ...labels }, annotations: { ...annotations } },
          ...(set.spec.template.metadata?.finalizers !== undefined && {
            finalizers: [...set.spec.template.metadata.finalizers],
          }),
          ownerReferences: [ownedBy(keeper)],
        },
        spec: structuredClone(spec),
      });
      const message = `Created pod: ${pod.metadata.name ?? ''}`;
      recorder.record(subject, { type: 'Normal', reason: 'SuccessfulCreate', message });
    } catch (error) {
      if (!isApiError(error)) throw error;
      const message = `Error creating: ${error.message}`;
      recorder.record(subject, { type: 'Warning', reason: 'FailedCreate', message });
      throw error;
    }
  }

  async function remove(set: Set, { metadata }: Pod): Promise<void> {
    const { namespace, name = '', uid = '' } = metadata;
    try {
      await api.delete({ resource: pods, namespace, name }, { preconditions: { uid } });
      const message = `Deleted pod: ${name}`;
      recorder.record(
        { kind, apiVersion, object: set },
        { type: 'Normal', reason: 'SuccessfulDelete', message },
      );
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  async function writeStatus(
    key: string,
    set: Set,
    active: readonly Pod[],
    failure: Error | undefined,
  ): Promise<void> {
    const { status, again } = replicaStatus(set, active, failure?.message, clock.now());
    if (again !== undefined) queue.addAfter(key, again);
    if (isDeepStrictEqual(status, set.status)) return;
    try {
      await api.replace<Set>(resource, { ...set, status }, 'status');
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  return queue;
}

/** Then the set goes too. */
function isNamespaceLeaving({ status }: ApiError): boolean {
  return status.details?.causes?.some(({ reason }) => reason === 'NamespaceTerminating') === true;
}

function selects({ spec }: Set, labels: Readonly<Record<string, string>>): boolean {
  const selector = spec.selector ?? {};
  const isMap = !('matchLabels' in selector || 'matchExpressions' in selector);
  return matchesLabelSelector(isMap ? { matchLabels: selector as Record<string, string> } : selector, labels);
}
