import type { CpiPhase, CpiPhaseKind, CpiRequestCounts } from '../../bosh/cpi-record.ts';
import type { EventRecord } from '../../kubernetes/describe-pod.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { CallContext } from '../call.ts';
import type { CallTime } from '../protocol/call-recorder.ts';
import { type ObservedRequest, observedApi, type RequestEnd } from './observed-api.ts';
import { podOfEvent, PodStart } from './pod-start.ts';

/** One request, or one wait, in milliseconds since the epoch. */
interface Span {
  readonly kind: CpiPhaseKind;
  readonly plural: string;
  readonly name: string | undefined;
  readonly start: number;
  /** Undefined while it runs. */
  end: number | undefined;
}

interface Phase {
  readonly kind: CpiPhaseKind;
  of: string;
  readonly start: number;
  end: number;
  n: number;
}

/** Requests of one kind with shorter pauses between them are one phase. */
const pauseMs = 50;

/** Notes the requests of a call, and what their answers tell about pods. It sends no request. */
export class ObservedCall {
  /** The context of the call, whose requests are noted. */
  readonly call: CallContext;
  readonly #time: CallTime;
  readonly #spans: Span[] = [];
  readonly #pods = new Map<string, PodStart>();

  constructor(call: CallContext, time: CallTime) {
    this.#time = time;
    this.call = {
      ...call,
      api: observedApi(call.api, (request) => this.#begin(request)),
      exec: async (command) => {
        const span = this.#open('exec', 'pods', command.pod);
        try {
          return await call.exec(command);
        } finally {
          span.end = this.#time.now();
        }
      },
    };
  }

  get requests(): CpiRequestCounts {
    const count = (...kinds: readonly CpiPhaseKind[]): number =>
      this.#spans.filter(({ kind }) => kinds.includes(kind)).length;
    return { reads: count('read', 'wait'), writes: count('write'), execs: count('exec') };
  }

  /**
   * Returns the phases in their order. They do not overlap: of requests at the same time the first
   * counts.
   */
  phases(): readonly CpiPhase[] {
    const { startedAt } = this.#time;
    return this.#merged(this.#time.now()).map(({ kind, of, start, end, n }) => {
      const at = Math.round(start - startedAt);
      const ms = Math.round(end - startedAt) - at;
      return { kind, at, ms, of, ...(n !== 1 && { n }) };
    });
  }

  #merged(now: number): readonly Phase[] {
    const phases: Phase[] = [];
    let last: Phase | undefined;
    for (const span of this.#spans) {
      const end = span.end ?? now;
      if (last !== undefined && end <= last.end) {
        last.n += 1;
        continue;
      }
      const start = Math.max(span.start, last?.end ?? 0);
      for (const [index, part] of this.#divided(span, start, end).entries()) {
        const n = index === 0 ? 1 : 0;
        if (last !== undefined && isSamePhase(last, part)) {
          last.of = last.of === part.of ? last.of : resourcesOf(last.of, part.of);
          last.end = part.end;
          last.n += n;
        } else {
          last = { ...part, n };
          phases.push(last);
        }
      }
    }
    return phases;
  }

  #divided({ kind, plural, name }: Span, start: number, end: number): Omit<Phase, 'n'>[] {
    const of = name === undefined ? plural : `${plural} ${name}`;
    const pod = kind === 'wait' && plural === 'pods' ? this.#pods.get(name ?? '') : undefined;
    return (pod?.divide(start, end) ?? [{ kind, start, end }]).map((part) => ({ ...part, of }));
  }

  #begin({ kind, resource, name }: ObservedRequest): RequestEnd {
    const plural = resource?.plural ?? 'groups';
    const span = this.#open(kind, plural, name);
    return {
      see: (object) => this.#see(plural, object),
      end: () => {
        span.end = this.#time.now();
      },
    };
  }

  #open(kind: CpiPhaseKind, plural: string, name: string | undefined): Span {
    const span: Span = { kind, plural, name, start: this.#time.now(), end: undefined };
    this.#spans.push(span);
    return span;
  }

  #see(plural: string, object: KubernetesObject): void {
    const now = this.#time.now();
    if (plural === 'pods') this.#podOf(object).see(object as Pod, now);
    if (plural !== 'events') return;
    const name = podOfEvent(object);
    if (name !== undefined) this.#pods.get(name)?.seeEvent(object as EventRecord, now);
  }

  /** A pod that was created again under its name begins again. */
  #podOf({ metadata: { name, uid } }: KubernetesObject): PodStart {
    const known = this.#pods.get(name);
    if (known !== undefined && known.uid === uid) return known;
    const pod = new PodStart(uid);
    this.#pods.set(name, pod);
    return pod;
  }
}

/** Waits for different objects stay apart. */
const isSamePhase = (last: Phase, next: Omit<Phase, 'n'>): boolean =>
  last.kind === next.kind &&
  next.start - last.end <= pauseMs &&
  (last.of === next.of || last.kind === 'read' || last.kind === 'write' || last.kind === 'exec');

/** Returns the resources of merged requests, without names. */
function resourcesOf(one: string, other: string): string {
  const plurals = [...one.split(', '), ...other.split(', ')].map((each) => each.split(' ')[0]);
  return [...new Set(plurals)].join(', ');
}
