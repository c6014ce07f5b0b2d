import type { Stored } from '../../../src/kubernetes/object.ts';
import { deleteSame } from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { ignoreNotFound } from '../../../src/kubernetes/api.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { nodes as nodeResource, pods as podResource } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../../controllers/controller-context.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { isTerminal } from '../../controllers/volumes/pod-claims.ts';
import { withDisruptionTarget } from './taint-eviction.ts';
import { readiness, type NodeTimings } from './node-lifecycle.ts';

const outOfService = 'node.kubernetes.io/out-of-service';

type Context = ControllerContext<'nodes' | 'pods'>;

/**
 * Force-deletes the pods that no kubelet will ever end (pkg/controller/podgc): those of a deleted node, after
 * a quarantine, and the terminating ones of a node that is not ready and has the taint out-of-service.
 */
export class PodGarbageCollector extends Controller {
  readonly #informers: Context['informers'];
  readonly #clock: Context['clock'];
  readonly #timings: NodeTimings;
  readonly #api: Context['api'];
  readonly #firstMissed = new Map<string, number>();

  constructor(context: Context, timings: NodeTimings) {
    super('pod-garbage-collector', context);
    this.#informers = context.informers;
    this.#clock = context.clock;
    this.#timings = timings;
    this.#api = context.api;
    const { informers } = context;

    informers.pods.onChange(({ key, after }) => {
      if (after?.spec.nodeName !== undefined && this.#mayBeOrphan(after)) this.queue.add(key);
    });

    informers.nodes.onChange(({ key, after }) => {
      if (after !== undefined) this.#firstMissed.delete(key);
      if (after !== undefined && !isOutOfService(after)) return;
      for (const pod of informers.pods.list()) {
        if (pod.spec.nodeName === key) this.queue.add(keyOf(pod));
      }
    });
  }

  #mayBeOrphan(pod: Pod): boolean {
    const node = this.#informers.nodes.get(pod.spec.nodeName ?? '');
    return node === undefined || (pod.metadata.deletionTimestamp !== undefined && isOutOfService(node));
  }

  protected override async reconcile(key: string): Promise<void> {
    const pod = this.#informers.pods.get(key);
    const nodeName = pod?.spec.nodeName;
    if (pod === undefined || nodeName === undefined || !this.#mayBeOrphan(pod)) return;
    if (this.#informers.nodes.get(nodeName) !== undefined) {
      await this.#remove(pod, `terminating pod on an out-of-service node`);
      return;
    }
    const since = this.#firstMissed.get(nodeName) ?? this.#clock.now();
    this.#firstMissed.set(nodeName, since);
    const remaining = since + this.#timings.quarantine - this.#clock.now();
    if (remaining > 0) this.queue.addAfter(key, remaining);
    else if (await this.#isDeleted(nodeName)) await this.#remove(pod, 'node no longer exists');
  }

  /** Reads from the API server, not the cache: the cache may lack a node that has just been created again. */
  async #isDeleted(name: string): Promise<boolean> {
    return (await ignoreNotFound(this.#api.get<Node>({ resource: nodeResource, name }))) === undefined;
  }

  async #remove(pod: Stored<Pod>, why: string): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const reference = { resource: podResource, namespace, name };
    const reason = { reason: 'DeletionByPodGC', message: `PodGC: ${why}` };
    const status = { ...withDisruptionTarget(pod, this.#clock.now(), reason), phase: 'Failed' };
    try {
      if (!isTerminal(pod)) {
        await this.#api.patch(reference, { metadata: { uid }, status }, { subresource: 'status' });
      }
      await deleteSame(this.#api, podResource, pod, { gracePeriodSeconds: 0 });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }
}

function isOutOfService(node: Node): boolean {
  return readiness(node) !== 'True' && (node.spec?.taints ?? []).some(({ key }) => key === outOfService);
}
