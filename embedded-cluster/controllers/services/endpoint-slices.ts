import type { Stored } from '../../../src/kubernetes/object.ts';
import { deleteSame } from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { isDeepStrictEqual } from 'node:util';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { endpointSlices } from '../../../src/kubernetes/resources.ts';
import { serviceNameLabel, type EndpointSlice, type Service } from '../../../src/kubernetes/types/service.ts';
import type { ControllerContext } from '../controller-context.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { desiredSlices, isSelectedBy, managedByLabel, manager } from './desired-slices.ts';

type Context = ControllerContext<'endpointSlices' | 'nodes' | 'pods' | 'services'>;

/**
 * Maintains the EndpointSlices of every Service that has a selector (kubernetes:
 * pkg/controller/endpointslice).
 */
export class EndpointSlices extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];

  constructor(context: Context) {
    super('endpoint-slices', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;

    this.watch(informers.services);

    informers.endpointSlices.onChange(({ before, after }) => {
      const owner = (after ?? before)?.metadata;
      const service = owner?.labels?.[serviceNameLabel];
      if (service !== undefined) this.queue.add(`${owner?.namespace ?? ''}/${service}`);
    });

    informers.pods.onChange(({ before, after }) => {
      for (const service of informers.services.list()) {
        if ([before, after].some((pod?: Pod) => pod !== undefined && isSelectedBy(service, pod))) {
          this.queue.add(keyOf(service));
        }
      }
    });

    // Upstream also reconciles a Service again if one of its pods had no known node.
    informers.nodes.onChange(({ before, after }) => {
      if (before !== undefined && after !== undefined) return;
      for (const service of informers.services.list()) this.queue.add(keyOf(service));
    });
  }

  protected override async reconcile(key: string): Promise<void> {
    const service = this.#informers.services.get(key);
    if (service?.spec.selector === undefined || service.metadata.deletionTimestamp !== undefined) return;
    const desired = desiredSlices(
      service,
      this.#informers.pods.list().filter((pod) => this.#mayBeShown(service, pod)),
    );
    for (const slice of desired) {
      const previous = this.#informers.endpointSlices.get(keyOf(slice));
      if (previous === undefined) await this.#api.create(endpointSlices, slice);
      else if (!isSame(previous, slice)) await this.#replace(previous, slice);
    }
    const names = new Set(desired.map(keyOf));
    for (const slice of this.#slicesOf(service))
      if (!names.has(keyOf(slice))) await deleteSame(this.#api, endpointSlices, slice);
  }

  /** Returns false for pods without a known node, unless `publishNotReadyAddresses` is set. */
  #mayBeShown({ spec }: Service, pod: Pod): boolean {
    const isOnNode = this.#informers.nodes.get(pod.spec.nodeName ?? '') !== undefined;
    return isOnNode || spec.publishNotReadyAddresses === true;
  }

  #slicesOf({ metadata: { namespace, name } }: Service): Stored<EndpointSlice>[] {
    return this.#informers.endpointSlices
      .list()
      .filter(
        ({ metadata }) =>
          metadata.namespace === namespace &&
          metadata.labels?.[serviceNameLabel] === name &&
          metadata.labels[managedByLabel] === manager,
      );
  }

  /** Replaces a slice only if it has not changed: otherwise a 409 causes another reconcile. */
  async #replace(previous: Stored<EndpointSlice>, slice: EndpointSlice): Promise<void> {
    const { uid, resourceVersion } = previous.metadata;
    await this.#api.replace(endpointSlices, {
      ...slice,
      metadata: { ...slice.metadata, uid, resourceVersion },
    });
  }
}

function isSame(previous: EndpointSlice, desired: EndpointSlice): boolean {
  return (
    isDeepStrictEqual(previous.endpoints, desired.endpoints) &&
    isDeepStrictEqual(previous.ports, desired.ports) &&
    isDeepStrictEqual(previous.metadata.labels, desired.metadata.labels) &&
    previous.metadata.ownerReferences?.[0]?.uid === desired.metadata.ownerReferences?.[0]?.uid
  );
}
