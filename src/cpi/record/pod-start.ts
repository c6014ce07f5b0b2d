import type { CpiPhaseKind } from '../../bosh/cpi-record.ts';
import type { EventRecord } from '../../kubernetes/describe-pod.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import { isObject } from '../../platform/json.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';

/** A part of a wait, in milliseconds since the epoch. */
export interface WaitPart {
  readonly kind: CpiPhaseKind;
  readonly start: number;
  readonly end: number;
}

/**
 * What a call has seen of the start of one pod. A time is the one at which the CPI saw the change, in its own
 * clock, because timestamps of Kubernetes are whole seconds of other clocks. Only events are read later than
 * they happen: their own time counts, but not beyond the time at which they were read.
 */
export class PodStart {
  readonly uid: string | undefined;
  #scheduled: number | undefined;
  #sandbox: number | undefined;
  #pulling: number | undefined;
  #pulled: number | undefined;
  #running: number | undefined;
  #isAwaitingSandbox = false;
  #isDeleting = false;

  constructor(uid: string | undefined) {
    this.uid = uid;
  }

  see({ metadata, spec, status }: Pick<Pod, 'metadata'> & Partial<Pod>, now: number): void {
    const conditions = objectsIn(status?.conditions);
    const sandbox = conditions.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
    this.#isAwaitingSandbox = sandbox === 'False';
    this.#isDeleting = metadata.deletionTimestamp !== undefined;
    if (spec?.nodeName !== undefined) this.#scheduled ??= now;
    if (sandbox === 'True' || status?.podIP !== undefined) this.#sandbox ??= now;
    if (objectsIn(status?.containerStatuses).some(({ state }) => state?.running !== undefined))
      this.#running ??= now;
  }

  seeEvent({ reason, lastTimestamp, eventTime, metadata }: EventRecord, now: number): void {
    const said = Date.parse(lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '');
    const time = Number.isNaN(said) ? now : Math.min(said, now);
    if (reason === 'Pulling') this.#pulling ??= time;
    if (reason === 'Pulled') this.#pulled ??= time;
  }

  /** Divides a wait for this pod at what was seen of its start. */
  divide(start: number, end: number): readonly WaitPart[] {
    if (this.#isDeleting) return [{ kind: 'delete', start, end }];
    const parts: WaitPart[] = [];
    let cursor = start;
    const until = (kind: CpiPhaseKind, time: number | undefined): void => {
      const partEnd = Math.min(time ?? cursor, end);
      if (partEnd <= cursor) return;
      parts.push({ kind, start: cursor, end: partEnd });
      cursor = partEnd;
    };
    until('schedule', this.#scheduled ?? end);
    until('mount', this.#mounted(end));
    // with the sandbox seen before, the time until the pull belongs to the start of the containers
    until('start', this.#pulling);
    until('pull', this.#pulling === undefined ? undefined : (this.#pulled ?? this.#running ?? end));
    until('start', end);
    return parts;
  }

  /** The time until which the node prepared volumes and network; undefined: not known. */
  #mounted(end: number): number | undefined {
    if (this.#sandbox === undefined && this.#pulling === undefined)
      return this.#isAwaitingSandbox ? end : undefined;
    return Math.min(this.#sandbox ?? end, this.#pulling ?? end);
  }
}

/** A call must not fail because of its record, whatever an answer has in the place of a list. */
const objectsIn = <T extends object>(list: readonly T[] | undefined): readonly T[] =>
  list !== undefined && Array.isArray(list) ? list.filter((each): boolean => isObject(each)) : [];

/** Returns the name of the pod about which an event is; undefined for any other event. */
export function podOfEvent(event: KubernetesObject): string | undefined {
  const { involvedObject } = event as EventRecord;
  return involvedObject?.kind === 'Pod' ? involvedObject.name : undefined;
}
