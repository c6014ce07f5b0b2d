import { isProductError, ProductError } from '../errors/product-error.ts';
import type { Pod } from '../kubernetes/pod.ts';
import { describePodAndEvents } from '../kubernetes/pod-words.ts';
import { waitFor } from '../kubernetes/wait.ts';
import type { CallContext } from './cloud.ts';
import { claimEvents } from './last-words.ts';
import { podReference } from './vm/find-vm.ts';

const schedulingHint = 'make room on a node that fits, add one, or ask for less: size, zone, node_selector';

/**
 * Waits until the pod is scheduled. Ignores "Unschedulable" until the deadline, because an autoscaler may add
 * nodes. Rejects with UNSCHEDULABLE, which carries the scheduler's message; with DEADLINE if the scheduler
 * has not reported anything; and with the error of `gone` if the pod was deleted.
 */
export async function waitForScheduling(
  cloud: CallContext,
  pod: Pod,
  notFoundError: () => ProductError,
  signal?: AbortSignal,
): Promise<Pod> {
  const { name = '', uid, namespace = cloud.namespace } = pod.metadata;
  if (pod.spec.nodeName !== undefined) return pod;
  let lastPod = pod;
  const waiting = waitFor<Pod, Pod>({
    ...(signal !== undefined && { signal }),
    api: cloud.api,
    clock: cloud.clock,
    reference: { ...podReference(cloud, name), namespace },
    known: pod,
    condition: (now) => {
      if (now === undefined || now.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined)
        throw notFoundError();
      lastPod = now;
      return now.spec.nodeName === undefined ? undefined : now;
    },
    awaited: `a node to take pod ${name}`,
    deadlineMs: cloud.config.deadlines.schedule * 1000,
    lastWords: async (last) => {
      const onPod = await describePodAndEvents(cloud.api, { namespace, name }, last);
      return {
        state: [onPod, ...(await describeClaims(cloud, namespace, pod))].join('; '),
        next: schedulingHint,
      };
    },
    onProgress: cloud.reportProgress,
  });
  return waiting.catch((error: unknown) => {
    if (!isProductError(error, 'DEADLINE') || !isUnschedulable(lastPod)) throw error;
    throw new ProductError('UNSCHEDULABLE', error.message, { cause: error });
  });
}

const isUnschedulable = ({ status }: Pod): boolean =>
  (status?.conditions ?? []).some(({ type, status: value }) => type === 'PodScheduled' && value === 'False');

/**
 * Describes why claims have no volume. Only the events of a claim have the reason: the scheduler reports no
 * more than that the claim is unbound.
 */
async function describeClaims(cloud: CallContext, namespace: string, { spec }: Pod): Promise<string[]> {
  const names = (spec.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []);
  const words = names.map(async (name) => {
    const events = await claimEvents(cloud, { namespace, name });
    return events === '' ? [] : [`claim ${name}: ${events}${storageClassHint(events)}`];
  });
  return (await Promise.all(words)).flat();
}

/**
 * Matches the messages of the volume binder and of provisioners (kubernetes:
 * pkg/controller/volume/persistentvolume).
 */
function storageClassHint(events: string): string {
  if (/storageclass\S* "[^"]*" not found/u.test(events))
    return ', so make that class: the class of a claim cannot be changed (storage_class in cloud_properties is for new disks)';
  return events.includes('no storage class is set')
    ? ', so make a static volume for it, or where the disk names no class mark one as the default (annotation storageclass.kubernetes.io/is-default-class)'
    : '';
}
