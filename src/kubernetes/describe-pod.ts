import { type KubernetesApi, ifAllowed } from './api.ts';
import type { NamespacedObject } from './object.ts';
import type { ContainerStatus, Pod } from './types/pod.ts';
import { events as eventResource } from './resources.ts';

/** The fields of core/v1 Event that we read. */
export interface EventRecord extends NamespacedObject {
  involvedObject?: { kind?: string; namespace?: string; name?: string; uid?: string };
  reason?: string;
  message?: string;
  count?: number;
  lastTimestamp?: string | null;
  firstTimestamp?: string | null;
  eventTime?: string | null;
}

const eventCount = 3;

/** Describes a pod in one line: its phase, why it is not scheduled, the states of its containers. */
export function describePod(pod: Pod): string {
  const status = pod.status;
  const unmet = (status?.conditions ?? []).filter(
    ({ type, status: value, message }) =>
      type === 'PodScheduled' && value === 'False' && message !== undefined,
  );
  const containers = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return [
    `phase ${status?.phase ?? 'unknown'}`,
    ...(pod.metadata.deletionTimestamp === undefined
      ? []
      : [`being deleted since ${pod.metadata.deletionTimestamp}`]),
    ...unmet.map(({ reason, message }) => `${reason ?? 'not scheduled'}: ${message ?? ''}`),
    ...containers.flatMap(describeContainer),
  ].join(', ');
}

function describeContainer({ name, state, lastState, restartCount }: ContainerStatus): string[] {
  const last = lastState?.terminated;
  const before =
    last === undefined ? '' : ` (ended before with exit code ${last.exitCode}, ${restartCount} restarts)`;
  if (state?.waiting !== undefined) {
    const { reason = 'waiting', message } = state.waiting;
    return [`container ${name} ${reason}${message === undefined ? '' : `: ${message}`}${before}`];
  }
  if (state?.terminated !== undefined) {
    const { exitCode, reason = 'terminated', message } = state.terminated;
    return [
      `container ${name} ${reason}, exit code ${exitCode}${message === undefined ? '' : `: ${message}`}`,
    ];
  }
  return state?.running === undefined ? [] : [`container ${name} running${before}`];
}

/**
 * The object whose events are listed. With `uid` only events of that object, not of a previous one of the
 * same name.
 */
export interface EventObject {
  readonly namespace: string;
  readonly name: string;
  readonly kind: string;
  readonly uid?: string | undefined;
}

/**
 * Returns the last few events of an object as one line, oldest first, without those whose message is part of
 * `detail`.
 */
export async function describeEvents(
  api: KubernetesApi,
  { namespace, name, kind, uid }: EventObject,
  detail = '',
): Promise<string> {
  const selectors = [`involvedObject.name=${name}`, `involvedObject.kind=${kind}`];
  if (uid !== undefined) selectors.push(`involvedObject.uid=${uid}`);
  const list = await api.list<EventRecord>(eventResource, { namespace, fieldSelector: selectors.join(',') });
  const news = list.items.filter(({ message = '' }) => message === '' || !detail.includes(message));
  const sorted = news.toSorted((one, other) => timeOf(one).localeCompare(timeOf(other)));
  return [...countsByText(sorted)]
    .slice(-eventCount)
    .map(([text, count]) => text.replace(': ', count > 1 ? ` (x${count}): ` : ': '))
    .join('; ');
}

/** Counts events with the same text, ordered by their last occurrence. */
function countsByText(sorted: readonly EventRecord[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { reason = 'Event', message = '', count = 1 } of sorted) {
    const text = `${reason}: ${message}`;
    const before = counts.get(text) ?? 0;
    counts.delete(text);
    counts.set(text, before + count);
  }
  return counts;
}

/**
 * Returns the result of `describeEvents`; an empty text if the role may not list events, because the rest of
 * the description matters more.
 */
export async function describeEventsIfAllowed(
  api: KubernetesApi,
  object: EventObject,
  detail = '',
): Promise<string> {
  return (await ifAllowed(describeEvents(api, object, detail))) ?? '';
}

/**
 * Describes a pod for the error of a wait: its state, then those of its last events that add something, if
 * the role may list events.
 */
export async function describePodAndEvents(
  api: KubernetesApi,
  pod: { readonly namespace: string; readonly name: string },
  last: Pod | undefined,
): Promise<string> {
  const state = last === undefined ? 'there is no such pod' : describePod(last);
  const events = await describeEventsIfAllowed(api, { ...pod, kind: 'Pod', uid: last?.metadata.uid }, state);
  return events === '' ? state : `${state}; events: ${events}`;
}

function timeOf(event: EventRecord): string {
  return event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp ?? '';
}
