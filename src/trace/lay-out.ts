import type { TraceCall } from './trace-call.ts';

/** A call in the picture, in its section's lane. Lengths are in pixels. */
export interface Bar {
  readonly call: TraceCall;
  readonly lane: number;
  readonly x: number;
  readonly width: number;
  readonly label: Label;
}

/** The text above a bar. It begins or ends at x. */
interface Label {
  readonly text: string;
  readonly x: number;
  readonly anchor: 'start' | 'end';
}

/** Calls that share one time axis. */
export interface Section {
  readonly start: number;
  readonly ms: number;
  readonly bars: readonly Bar[];
  readonly lanes: number;
}

export interface LayoutOptions {
  /** The length of the time axis. */
  readonly width: number;
  readonly labelOf: (call: TraceCall) => string;
}

/** A longer time without any call begins a new section, so that the calls do not become too narrow. */
const maxPauseMs = 60_000;
/** Many short calls would become too narrow on one axis. */
const maxCallsInSection = 40;
const minBarWidth = 2;
const gap = 10;
/** The width of an average character at 12 pixels, rounded up. */
const characterWidth = 7.4;

/** Places calls, which are in the order of their starts, into sections and lanes without overlap. */
export function layOut(calls: readonly TraceCall[], options: LayoutOptions): readonly Section[] {
  return sectionsOf(calls).map((section) => layOutSection(section, options));
}

function sectionsOf(calls: readonly TraceCall[]): TraceCall[][] {
  const sections: TraceCall[][] = [];
  let end = -Infinity;
  for (const call of calls) {
    const current = sections.at(-1);
    if (current === undefined || call.start - end > maxPauseMs || current.length >= maxCallsInSection)
      sections.push([call]);
    else current.push(call);
    end = Math.max(end, call.start + call.ms);
  }
  return sections;
}

function layOutSection(calls: readonly TraceCall[], { width, labelOf }: LayoutOptions): Section {
  const start = calls[0]?.start ?? 0;
  const ms = Math.max(1, ...calls.map((call) => call.start + call.ms - start));
  /** The end of what is in each lane so far. */
  const ends: number[] = [];
  const bars = calls.map((call) => {
    const barWidth = Math.max(minBarWidth, (call.ms / ms) * width);
    const x = Math.min(((call.start - start) / ms) * width, width - barWidth);
    const text = labelOf(call);
    const length = text.length * characterWidth;
    const label = placeLabel(text, { x, end: x + barWidth, length, width });
    const left = label.anchor === 'end' ? Math.min(x, label.x - length) : x;
    const free = ends.findIndex((end) => end + gap <= left);
    const lane = free < 0 ? ends.length : free;
    ends[lane] = Math.max(x + barWidth, label.anchor === 'end' ? label.x : x + length);
    return { call, lane, x, width: barWidth, label };
  });
  return { start, ms, bars, lanes: ends.length };
}

/** A label that does not fit from the start of its bar on ends with its bar. */
function placeLabel(
  text: string,
  { x, end, length, width }: Readonly<Record<'x' | 'end' | 'length' | 'width', number>>,
): Label {
  if (x + length <= width) return { text, x, anchor: 'start' };
  return { text, x: end >= length ? end : width, anchor: 'end' };
}

const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000].concat(
  [2, 5, 10, 20, 30, 60, 120, 240, 480, 1440].map((minutes) => minutes * 60_000),
);

/** Returns the times of the marks on an axis of that length: at most nine, at round numbers. */
export function axisMarks(ms: number): readonly number[] {
  const step = steps.find((each) => ms / each <= 8) ?? ms;
  return Array.from({ length: Math.floor(ms / step) + 1 }, (_, index) => index * step);
}
