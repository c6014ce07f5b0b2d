import type { ObjectReference } from '../../kubernetes/api.ts';
import type { KubernetesObject, Stored } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import {
  type EventObject,
  describeEventsIfAllowed,
  describePodAndEvents,
} from '../../kubernetes/describe-pod.ts';
import { type WaitStatus } from '../../kubernetes/client/wait.ts';
import { waitForObject } from './wait-for-object.ts';
import type { CallContext } from '../call.ts';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { podReference } from './names.ts';

/** The kinds of the objects whose deletion a verb waits for, by the plural of their resource. */
const kindOfPlural: Readonly<Record<string, string>> = {
  persistentvolumeclaims: 'PersistentVolumeClaim',
  services: 'Service',
  secrets: 'Secret',
  volumesnapshots: 'VolumeSnapshot',
  networkpolicies: 'NetworkPolicy',
  'network-attachment-definitions': 'NetworkAttachmentDefinition',
};

/**
 * The advice for each known finalizer: those of Kubernetes itself, of external-snapshotter, of the cloud
 * controllers and of external-attacher.
 */
const finalizerHints: readonly (readonly [RegExp, string])[] = [
  [/pvc-protection$/u, 'a pod still uses the claim: find it with kubectl describe pvc, and end it'],
  [/pvc-as-source-protection$/u, 'a snapshot of it is being taken: see kubectl get volumesnapshots'],
  [/snapshot.*-as-source-protection$/u, 'a disk is being made from it: see kubectl get pvc'],
  [/^snapshot\./u, 'check that the snapshot controller and the snapshotter of its driver run'],
  [/load-balancer-cleanup$/u, 'check that the controller of its load balancer runs, and read its log'],
  [/^external-attacher\//u, 'check that the attacher of its driver runs, and read its log'],
  [/^foregroundDeletion$/u, 'its dependents are deleted first: check that the garbage collector runs'],
];

const schedulingHint = 'make room on a node that fits, add one, or request less: size, zone, node_selector';

/**
 * Describes why a deleted object still exists: a pod's state; for others the finalizers, the driver's
 * message, the events, and what to check. The object is already being deleted. When the cause is removed the
 * deletion completes, and the call can be repeated.
 */
export async function describePendingDeletion(
  call: CallContext,
  { resource, name, namespace = '' }: ObjectReference,
  last: KubernetesObject | undefined,
): Promise<WaitStatus> {
  const finalizers = last?.metadata.finalizers ?? [];
  if (resource.plural === 'pods') {
    const pod = last as Pod | undefined;
    const podState = await describePodAndEvents(call.api, { namespace, name }, pod);
    if (finalizers.length === 0 || isAnyContainerRunning(pod))
      return { state: podState, next: 'check that the kubelet of its node runs, then repeat the call' };
    const next = nextStep(finalizers, { plural: 'pods', namespace, name });
    return {
      state: `${podState}; held by its finalizers ${finalizers.join(', ')}`,
      next: `${next}, then repeat the call`,
    };
  }
  const state =
    finalizers.length === 0 ? 'it still exists' : `held by its finalizers ${finalizers.join(', ')}`;
  const kind = kindOfPlural[resource.plural];
  const { uid } = last?.metadata ?? {};
  const events = kind === undefined ? '' : await eventsOf(call, { namespace, name, kind, uid });
  const driverMessage = resource.plural === 'volumeattachments' ? driverError(last) : undefined;
  return {
    state: [
      state,
      ...(driverMessage === undefined ? [] : [`its driver reported: ${driverMessage}`]),
      ...(events === '' ? [] : [`events: ${events}`]),
    ].join('; '),
    next: `${nextStep(finalizers, { plural: resource.plural, namespace, name })}, then repeat the call`,
  };
}

/**
 * The errors in storage/v1 VolumeAttachmentStatus. A driver reports only there why it does not detach; no
 * event has the reason.
 */
interface AttachmentErrors extends KubernetesObject {
  status?: { attachError?: { message?: string }; detachError?: { message?: string } };
}

function driverError(last: AttachmentErrors | undefined): string | undefined {
  const { detachError, attachError } = last?.status ?? {};
  return detachError?.message ?? attachError?.message;
}

/** Returns the events of a claim; an empty text if there are none. */
export const claimEvents = (
  call: CallContext,
  claim: { readonly namespace: string; readonly name: string },
): Promise<string> => eventsOf(call, { ...claim, kind: 'PersistentVolumeClaim' });

/** Describes a claim that waits for its driver: its events and, if they do not explain it, what to check. */
export async function describeClaim(
  call: CallContext,
  claim: { readonly namespace: string; readonly name: string },
  next: string,
): Promise<WaitStatus> {
  const events = await claimEvents(call, claim);
  return {
    state: events === '' ? 'nothing was reported about it' : events,
    next: `${next}, then repeat the call`,
  };
}

interface ObjectName {
  readonly plural: string;
  readonly namespace: string;
  readonly name: string;
}

function nextStep(finalizers: readonly string[], { plural, namespace, name }: ObjectName): string {
  const known = finalizerHints.find(([pattern]) => finalizers.some((finalizer) => pattern.test(finalizer)));
  if (known !== undefined) return known[1];
  if (finalizers.length === 0) return 'check that its API server and controllers run';
  const object = `${plural} ${name}${namespace === '' ? '' : ` -n ${namespace}`}`;
  return (
    'neither BOSH nor Kubernetes set these: check that the controller that set them runs; if it no longer exists, remove them ' +
    `(kubectl edit ${object})`
  );
}

const isAnyContainerRunning = (pod: Pod | undefined): boolean =>
  (pod?.status?.containerStatuses ?? []).some(({ state }) => state?.running !== undefined);

/**
 * Returns an object's events without those that `known` contains already. Returns an empty text if there are
 * none, or without the right to read them.
 */
export const eventsOf = ({ api }: CallContext, object: EventObject, known = ''): Promise<string> =>
  describeEventsIfAllowed(api, object, known);

/**
 * Waits until the pod is scheduled. Ignores "Unschedulable" until the deadline, because an autoscaler may add
 * nodes. Rejects with UNSCHEDULABLE, which carries the scheduler's message; with DEADLINE if the scheduler
 * has not reported anything; and with the error of `notFoundError` if the pod was deleted.
 */
export async function waitForScheduling(
  call: CallContext,
  pod: Stored<Pod>,
  notFoundError: () => ProductError,
  signal?: AbortSignal,
): Promise<Stored<Pod>> {
  const { name, uid, namespace } = pod.metadata;
  if (pod.spec.nodeName !== undefined) return pod;
  let lastPod = pod;
  const waiting = waitForObject<Pod, Stored<Pod>>(call, {
    signal,
    reference: { ...podReference(call, name), namespace },
    known: pod,
    condition: (now) => {
      if (now === undefined || now.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined)
        throw notFoundError();
      lastPod = now;
      return now.spec.nodeName === undefined ? undefined : now;
    },
    awaited: `a node to take pod ${name}`,
    deadlineMs: call.config.deadlines.schedule * 1000,
    describeState: async (last) => {
      const onPod = await describePodAndEvents(call.api, { namespace, name }, last);
      return {
        state: [onPod, ...(await describeClaims(call, namespace, pod))].join('; '),
        next: schedulingHint,
      };
    },
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
async function describeClaims(call: CallContext, namespace: string, { spec }: Pod): Promise<string[]> {
  const names = (spec.volumes ?? []).flatMap((volume) => volume.persistentVolumeClaim?.claimName ?? []);
  const descriptions = names.map(async (name) => {
    const events = await claimEvents(call, { namespace, name });
    return events === '' ? [] : [`claim ${name}: ${events}${storageClassHint(events)}`];
  });
  return (await Promise.all(descriptions)).flat();
}

/**
 * Matches the messages of the volume binder and of provisioners (kubernetes:
 * pkg/controller/volume/persistentvolume).
 */
function storageClassHint(events: string): string {
  if (/storageclass\S* "[^"]*" not found/u.test(events))
    return ', so make that class: the class of a claim cannot be changed (storage_class in cloud_properties is for new disks)';
  return events.includes('no storage class is set')
    ? ', so make a static volume for it, or, if the disk names no class, mark one as the default (annotation storageclass.kubernetes.io/is-default-class)'
    : '';
}
