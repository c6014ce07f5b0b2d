import type { CpiPhaseKind } from '../../bosh/cpi-record.ts';
import { oneLine } from '../../errors/text.ts';
import type { TraceCall } from '../trace-call.ts';

/** `other` is the time of a call that is in none of its phases. */
export type ShownKind = CpiPhaseKind | 'other';

/** The meaning of each kind, in the order of the legend. */
export const kindTexts: Readonly<Record<ShownKind, string>> = {
  read: 'read objects',
  write: 'write objects',
  exec: 'command in a pod',
  schedule: 'wait for a node',
  mount: 'volumes and network',
  pull: 'pull the image',
  start: 'start containers',
  delete: 'wait for a deletion',
  wait: 'other wait',
  other: 'the CPI itself',
};

/** A part of a call. All parts together are the whole call. */
export interface CallPart {
  readonly kind: ShownKind;
  readonly at: number;
  readonly ms: number;
  readonly of: string;
  readonly n: number;
}

/** Returns the phases of a call, with the time between them. */
export function partsOf({ phases, ms }: TraceCall): readonly CallPart[] {
  const parts: CallPart[] = [];
  let end = 0;
  const fill = (until: number): void => {
    if (until > end) parts.push({ kind: 'other', at: end, ms: until - end, of: '', n: 0 });
  };
  for (const phase of phases) {
    fill(phase.at);
    parts.push(phase);
    end = phase.at + phase.ms;
  }
  fill(ms);
  return parts;
}

/** The time of each kind, longest first. */
export function timesByKind(calls: readonly TraceCall[]): readonly (readonly [ShownKind, number])[] {
  const times = new Map<ShownKind, number>();
  for (const call of calls)
    for (const { kind, ms } of partsOf(call)) times.set(kind, (times.get(kind) ?? 0) + ms);
  return [...times].filter(([, ms]) => ms > 0).toSorted(([, one], [, other]) => other - one);
}

/** As `350 ms`, `12.3 s`, `2 min 5 s` or `3 h 20 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(Math.floor(ms / 100) / 10).toString()} s`;
  const seconds = Math.round(ms / 1000);
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3600)];
  if (hours > 0) return joined(`${hours} h`, minutes % 60, 'min');
  return joined(`${minutes} min`, seconds % 60, 's');
}

const joined = (whole: string, rest: number, unit: string): string =>
  rest === 0 ? whole : `${whole} ${rest} ${unit}`;

/** As `2026-11-28 15:30:01`, in UTC. */
export const formatTime = (time: number): string =>
  new Date(time).toISOString().slice(0, 19).replace('T', ' ');

export const isFailed = ({ result }: TraceCall): boolean => result !== 'ok';

/** Returns the cid of the object that the method is about, without its context; an empty text if none. */
export function mainCid({ method, cids }: TraceCall): string {
  const names = cids.map((cid) => cid.slice(cid.lastIndexOf(':') + 1));
  const prefix = /_(vm|disk|snapshot|network)/u.exec(method)?.[1] ?? '';
  const own = { vm: 'vm-', disk: 'disk-', snapshot: 'snap-', network: 'net-' }[prefix];
  return names.find((name) => own !== undefined && name.startsWith(own)) ?? names[0] ?? '';
}

/** The method, or a text for a request without a readable one. */
export const methodText = ({ method }: TraceCall): string => (method === '' ? 'unreadable request' : method);

const maxLabelWords = 24;

/** Returns the label of a bar: method, the beginning of the cid, duration. */
export function labelOf(call: TraceCall): string {
  const cid = mainCid(call);
  const short = cid.length > 16 ? `${cid.slice(0, 13)}…` : cid;
  const words = [methodText(call).slice(0, maxLabelWords), short, formatDuration(call.ms)];
  return oneLine([...words, isFailed(call) ? 'failed' : ''].filter((word) => word !== '').join(' '));
}

/** Returns what a tooltip tells about a call. */
export function describeCall(call: TraceCall): string {
  const { reads, writes, execs } = call.requests;
  return [
    `${methodText(call)}, ${formatDuration(call.ms)}, at ${formatTime(call.start)} UTC`,
    ...call.cids,
    `${reads} reads, ${writes} writes, ${execs} commands`,
    ...(call.requestId === undefined ? [] : [`request ${call.requestId}`]),
    ...(isFailed(call) ? [`failed: ${call.result}`] : []),
    ...(call.message === undefined ? [] : [call.message]),
  ].join('\n');
}

/** Returns what a tooltip tells about a part of a call. */
export function describePart({ kind, at, ms, of, n }: CallPart): string {
  const requests = n > 1 ? `, ${n} requests` : '';
  const object = of === '' ? '' : `: ${of}`;
  return `${kindTexts[kind]}, ${formatDuration(ms)}, after ${formatDuration(at)}${object}${requests}`;
}

/** Returns the longest kinds of a call, as `pull the image 31.2 s, write objects 1.1 s`. */
export const longestKinds = (call: TraceCall): string =>
  timesByKind([call])
    .slice(0, 3)
    .map(([kind, ms]) => `${kindTexts[kind]} ${formatDuration(ms)}`)
    .join(', ');
