import { isDeepStrictEqual } from 'node:util';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { endpointSlices } from '../../../src/kubernetes/resources.ts';
import { serviceNameLabel, type EndpointSlice, type Service } from '../../../src/kubernetes/types/service.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { desiredSlices, isSelectedBy, managedByLabel, manager } from './desired-slices.ts';

/**
 * Maintains the EndpointSlices of every Service that has a selector (kubernetes:
 * pkg/controller/endpointslice).
 */
export function createEndpointSlices(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const queue = new WorkQueue('endpoint-slices', reconcile, context);

  informers.services.onChange(({ key }) => queue.add(key));
  informers.endpointSlices.onChange(({ before, after }) => {
    const owner = (after ?? before)?.metadata;
    const service = owner?.labels?.[serviceNameLabel];
    if (service !== undefined) queue.add(`${owner?.namespace ?? ''}/${service}`);
  });
  informers.pods.onChange(({ before, after }) => {
    for (const service of informers.services.list()) {
      if ([before, after].some((pod?: Pod) => pod !== undefined && isSelectedBy(service, pod))) {
        queue.add(keyOf(service));
      }
    }
  });

  // Upstream also reconciles a Service again if one of its pods had no known node.
  informers.nodes.onChange(({ before, after }) => {
    if (before !== undefined && after !== undefined) return;
    for (const service of informers.services.list()) queue.add(keyOf(service));
  });

  async function reconcile(key: string): Promise<void> {
    const service = informers.services.get(key);
    if (service?.spec.selector === undefined || service.metadata.deletionTimestamp !== undefined) return;
    const wanted = desiredSlices(
      service,
      informers.pods.list().filter((pod) => mayBeShown(service, pod)),
    );
    for (const slice of wanted) {
      const former = informers.endpointSlices.get(keyOf(slice));
      if (former === undefined) await api.create(endpointSlices, slice);
      else if (!isSame(former, slice)) await replace(former, slice);
    }
    const names = new Set(wanted.map(keyOf));
    for (const slice of slicesOf(service)) if (!names.has(keyOf(slice))) await remove(slice);
  }

  /** Returns false for pods without a known node, unless `publishNotReadyAddresses` is set. */
  function mayBeShown({ spec }: Service, pod: Pod): boolean {
    const isOnNode = informers.nodes.get(pod.spec.nodeName ?? '') !== undefined;
    return isOnNode || spec.publishNotReadyAddresses === true;
  }

  function slicesOf({ metadata: { namespace, name = '' } }: Service): EndpointSlice[] {
    return informers.endpointSlices
      .list()
      .filter(
        ({ metadata }) =>
          metadata.namespace === namespace &&
          metadata.labels?.[serviceNameLabel] === name &&
          metadata.labels[managedByLabel] === manager,
      );
  }

  /** Replaces a slice only if it has not changed: otherwise a 409 causes another reconcile. */
  async function replace(former: EndpointSlice, slice: EndpointSlice): Promise<void> {
    const { uid = '', resourceVersion = '' } = former.metadata;
    await api.replace(endpointSlices, { ...slice, metadata: { ...slice.metadata, uid, resourceVersion } });
  }

  async function remove({ metadata: { namespace, name = '', uid = '' } }: EndpointSlice): Promise<void> {
    try {
      await api.delete({ resource: endpointSlices, namespace, name }, { preconditions: { uid } });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  return queue;
}

function isSame(former: EndpointSlice, wanted: EndpointSlice): boolean {
  return (
    isDeepStrictEqual(former.endpoints, wanted.endpoints) &&
    isDeepStrictEqual(former.ports, wanted.ports) &&
    isDeepStrictEqual(former.metadata.labels, wanted.metadata.labels) &&
    former.metadata.ownerReferences?.[0]?.uid === wanted.metadata.ownerReferences?.[0]?.uid
  );
}
