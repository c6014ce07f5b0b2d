import { isDeepStrictEqual } from 'node:util';
import { isApiError } from '../../../kubernetes/api-error.ts';
import { matchesLabelSelector } from '../../../kubernetes/label-selector.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { deployments, pods, replicaSets } from '../../../kubernetes/resources.ts';
import type { Deployment, ReplicaSet } from '../../../kubernetes/workload.ts';
import { jsonEqual } from '../../api/schema/json.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { deploymentStatus } from './deployment-status.ts';
import { claim, controllerOf, ownedBy } from './owned-pods.ts';
import type { Keeper } from './owned-pods.ts';
import { countsOf, isRescaled, rescale } from './rescale.ts';
import { createdAt, scaleDown, scaleUp } from './rollout.ts';
import { hashLabel, hashOf, withoutHash } from './template-hash.ts';

const revisionAnnotation = 'deployment.kubernetes.io/revision';
const prefix = 'deployment.kubernetes.io/';
/** Of kubectl, and of no use on a set. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

/** Rolls the pods of Deployments from one template to the next, a ReplicaSet for each (kubernetes: pkg/controller/deployment). */
export function createDeployments(context: ControllerContext): WorkQueue {
  const { api, clock, informers } = context;
  const queue = new WorkQueue('deployments', reconcileUnlessGone, context);
  const recorder = context.recorder('deployment-controller');

  informers.deployments.onChange(({ key }) => queue.add(key));
  informers.replicaSets.onChange(({ before, after }) => {
    for (const set of [before, after]) if (set !== undefined) addKeepers(set);
  });
  // Recreate waits for the last pod of the former template
  informers.pods.onChange(({ before, after }) => {
    const owner = before === undefined || after !== undefined ? undefined : controllerOf(before);
    if (owner?.kind !== 'ReplicaSet') return;
    const set = informers.replicaSets.get(`${before?.metadata.namespace ?? ''}/${owner.name}`);
    if (set !== undefined) addKeepers(set);
  });

  function addKeepers(set: ReplicaSet): void {
    const { namespace = '', labels = {} } = set.metadata;
    const owner = controllerOf(set);
    if (owner?.kind === 'Deployment') queue.add(`${namespace}/${owner.name}`);
    if (owner !== undefined) return;
    for (const deployment of informers.deployments.list())
      if (
        deployment.metadata.namespace === namespace &&
        matchesLabelSelector(deployment.spec.selector, labels)
      )
        queue.add(keyOf(deployment));
  }

  /** Where the deployment or one of its sets went meanwhile, its watch brings the deployment here again. */
  async function reconcileUnlessGone(key: string): Promise<void> {
    try {
      await reconcile(key);
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  async function reconcile(key: string): Promise<void> {
    const deployment = informers.deployments.get(key);
    if (deployment === undefined) return;
    const selects = (labels: Readonly<Record<string, string>>): boolean =>
      matchesLabelSelector(deployment.spec.selector, labels);
    const keeper: Keeper = { kind: 'Deployment', apiVersion: 'apps/v1', object: deployment, selects };
    const sets = await claim<ReplicaSet>(api, replicaSets, keeper);
    const template = deployment.spec.template;
    const same = sets.filter((set) => jsonEqual(withoutHash(set.spec.template), withoutHash(template)));
    const [found] = same.toSorted((left, right) => createdAt(left) - createdAt(right));
    const old = sets.filter((set) => set !== found);
    const isLeaving = deployment.metadata.deletionTimestamp !== undefined;
    const present = isLeaving ? found : await settle(deployment, keeper, found, old);
    await writeStatus(key, deployment, present, old);
    if (!isLeaving && present !== undefined) await forgetOld(deployment, old);
  }

  /** One step; the change of a set brings the deployment back here. Resolves with the set of the template. */
  async function settle(
    deployment: Deployment,
    keeper: Keeper,
    found: ReplicaSet | undefined,
    old: readonly ReplicaSet[],
  ): Promise<ReplicaSet | undefined> {
    const isRecreate = deployment.spec.strategy?.type === 'Recreate';
    const sets = [...(found === undefined ? [] : [found]), ...old];
    if (deployment.spec.paused === true || (!isRecreate && isRescaled(deployment, sets))) {
      // the rollout goes on when what is there follows the count that is wanted
      for (const { set, replicas } of rescale(deployment, found, old))
        await rewrite(deployment, set, replicas);
      return found;
    }
    const revision = old.map(revisionOf).reduce((most, one) => (one > most ? one : most), 0n) + 1n;
    const wanted = found === undefined ? undefined : await markRevision(deployment, found, revision);
    if (isRecreate) return recreate(deployment, keeper, revision, wanted, old);
    if (wanted === undefined) {
      const empty = { metadata: {}, spec: { replicas: 0 } } as ReplicaSet;
      return make(deployment, keeper, revision, scaleUp(deployment, empty, old));
    }
    const grown = await scale(deployment, wanted, scaleUp(deployment, wanted, old));
    for (const { set, replicas } of scaleDown(deployment, grown, old)) await scale(deployment, set, replicas);
    return grown;
  }

  /** No pod of the template before the last one of the former templates is gone. */
  async function recreate(
    deployment: Deployment,
    keeper: Keeper,
    revision: bigint,
    wanted: ReplicaSet | undefined,
    old: readonly ReplicaSet[],
  ): Promise<ReplicaSet | undefined> {
    for (const set of old) await scale(deployment, set, 0);
    if (await anyPodOf(old)) return wanted;
    return wanted === undefined
      ? make(deployment, keeper, revision, deployment.spec.replicas ?? 1)
      : scale(deployment, wanted, deployment.spec.replicas ?? 1);
  }

  async function anyPodOf(sets: readonly ReplicaSet[]): Promise<boolean> {
    const uids = new Set(sets.map(({ metadata }) => metadata.uid));
    const [first] = sets;
    if (first === undefined) return false;
    const { items } = await api.list<Pod>(pods, { namespace: first.metadata.namespace });
    return items.some(
      (pod) =>
        uids.has(controllerOf(pod)?.uid) &&
        pod.status?.phase !== 'Succeeded' &&
        pod.status?.phase !== 'Failed',
    );
  }

  /** Resolves with undefined where another object has the name: the next look takes another one. */
  async function make(
    deployment: Deployment,
    keeper: Keeper,
    revision: bigint,
    replicas: number,
  ): Promise<ReplicaSet | undefined> {
    const { namespace = '', name = '' } = deployment.metadata;
    const { template, selector, minReadySeconds } = deployment.spec;
    const hash = hashOf(template, deployment.status?.collisionCount ?? 0);
    const labels = { ...template.metadata?.labels, [hashLabel]: hash };
    try {
      const set = await api.create<ReplicaSet>(replicaSets, {
        metadata: {
          ...{ namespace, name: `${name}-${hash}`, labels },
          annotations: {
            ...annotationsOf(deployment),
            ...countsOf(deployment),
            [revisionAnnotation]: String(revision),
          },
          ownerReferences: [ownedBy(keeper)],
        },
        spec: {
          replicas,
          ...(minReadySeconds !== undefined && { minReadySeconds }),
          selector: { ...selector, matchLabels: { ...selector.matchLabels, [hashLabel]: hash } },
          template: { ...template, metadata: { ...template.metadata, labels } },
        },
      });
      tell(deployment, 'ScalingReplicaSet', `Scaled up replica set ${name}-${hash} from 0 to ${replicas}`);
      return set;
    } catch (error) {
      if (!isApiError(error, 409, 'AlreadyExists')) throw error;
      const collisionCount = (deployment.status?.collisionCount ?? 0) + 1;
      await api.replace(
        deployments,
        { ...deployment, status: { ...deployment.status, collisionCount } },
        'status',
      );
      return undefined;
    }
  }

  async function markRevision(
    deployment: Deployment,
    set: ReplicaSet,
    revision: bigint,
  ): Promise<ReplicaSet> {
    const number = revision > revisionOf(set) ? revision : revisionOf(set);
    const annotations = {
      ...set.metadata.annotations,
      ...annotationsOf(deployment),
      [revisionAnnotation]: String(number),
    };
    const minReadySeconds = deployment.spec.minReadySeconds;
    if (
      isDeepStrictEqual(annotations, set.metadata.annotations) &&
      (set.spec.minReadySeconds ?? 0) === (minReadySeconds ?? 0)
    )
      return set;
    const spec = { ...set.spec };
    delete spec.minReadySeconds;
    if (minReadySeconds !== undefined) spec.minReadySeconds = minReadySeconds;
    return api.replace(replicaSets, { ...set, metadata: { ...set.metadata, annotations }, spec });
  }

  async function scale(deployment: Deployment, set: ReplicaSet, replicas: number): Promise<ReplicaSet> {
    const before = set.spec.replicas ?? 0;
    return before === replicas ? set : rewrite(deployment, set, replicas);
  }

  /** Also where the set keeps its size, but not what it says of the Deployment's. */
  async function rewrite(deployment: Deployment, set: ReplicaSet, replicas: number): Promise<ReplicaSet> {
    const before = set.spec.replicas ?? 0;
    const annotations = { ...set.metadata.annotations, ...countsOf(deployment) };
    if (before === replicas && isDeepStrictEqual(annotations, set.metadata.annotations)) return set;
    const scaled = await api.replace<ReplicaSet>(replicaSets, {
      ...{ ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } },
    });
    if (before === replicas) return scaled;
    const way = replicas > before ? 'up' : 'down';
    const message = `Scaled ${way} replica set ${set.metadata.name ?? ''} from ${before} to ${replicas}`;
    tell(deployment, 'ScalingReplicaSet', message);
    return scaled;
  }

  async function writeStatus(
    key: string,
    deployment: Deployment,
    present: ReplicaSet | undefined,
    old: readonly ReplicaSet[],
  ): Promise<void> {
    const { status, again } = deploymentStatus(deployment, present, old, clock.now());
    if (again !== undefined && again > 0) queue.addAfter(key, again);
    const revision = present?.metadata.annotations?.[revisionAnnotation];
    const annotations = { ...deployment.metadata.annotations };
    if (revision !== undefined) annotations[revisionAnnotation] = revision;
    const marked =
      annotations[revisionAnnotation] === deployment.metadata.annotations?.[revisionAnnotation]
        ? deployment
        : await api.replace<Deployment>(deployments, {
            ...deployment,
            metadata: { ...deployment.metadata, annotations },
          });
    if (!isDeepStrictEqual(status, marked.status))
      await api.replace(deployments, { ...marked, status }, 'status');
  }

  /** Sets without pods beyond the history that is wanted, the oldest first. */
  async function forgetOld({ spec }: Deployment, old: readonly ReplicaSet[]): Promise<void> {
    const empty = old
      .filter(
        (set) =>
          set.spec.replicas === 0 &&
          (set.status?.replicas ?? 0) === 0 &&
          set.status?.observedGeneration === set.metadata.generation &&
          set.metadata.deletionTimestamp === undefined,
      )
      .toSorted((left, right) => (revisionOf(left) < revisionOf(right) ? -1 : 1));
    for (const { metadata } of empty.slice(
      0,
      Math.max(0, empty.length - (spec.revisionHistoryLimit ?? 10)),
    )) {
      const { namespace, name = '', uid = '' } = metadata;
      await api.delete({ resource: replicaSets, namespace, name }, { preconditions: { uid } });
    }
  }

  function tell(deployment: Deployment, reason: string, message: string): void {
    const subject = { kind: 'Deployment', apiVersion: 'apps/v1', object: deployment };
    recorder.record(subject, { type: 'Normal', reason, message });
  }

  return queue;
}

/** What of a Deployment's own annotations its sets have, too. */
function annotationsOf({ metadata }: Deployment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(
      ([key]) => key !== lastApplied && !key.startsWith(prefix),
    ),
  );
}

/** A 64-bit number; whoever wrote what is none there gets a first revision. */
function revisionOf({ metadata }: ReplicaSet): bigint {
  const text = metadata.annotations?.[revisionAnnotation] ?? '';
  return /^\d{1,19}$/.test(text) ? BigInt(text) : 0n;
}
