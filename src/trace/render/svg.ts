import { axisMarks, type Bar, layOut, type Section } from '../lay-out.ts';
import type { TraceCall } from '../trace-call.ts';
import { type Markup, markup, plain } from './markup.ts';
import { pictureStyle } from './style.ts';
import {
  describeCall,
  describePart,
  formatDuration,
  formatTime,
  isFailed,
  kindTexts,
  labelOf,
  partsOf,
  type ShownKind,
  timesByKind,
} from './texts.ts';

const width = 1000;
const margin = 16;
const laneHeight = 36;
const barHeight = 14;
const axisHeight = 22;
const headingHeight = 26;
const sectionGap = 18;
const legendColumn = 190;
const legendRow = 20;

/** Begins a file that this program wrote, so that it may replace it. */
export const traceMark = '<!-- bosh-kubernetes trace -->';

/** Draws the timeline of calls, which are in the order of their starts, as one SVG image. */
export function renderSvg(calls: readonly TraceCall[]): Markup {
  const sections = layOut(calls, { width: width - 2 * margin, labelOf });
  const kinds = timesByKind(calls).map(([kind]) => kind);
  const legend = renderLegend(kinds);
  let y = legend.height + margin;
  const drawn = sections.map((section) => {
    const part = markup`<g transform="translate(${margin} ${y})">${renderSection(section)}</g>`;
    y += headingHeight + axisHeight + section.lanes * laneHeight + sectionGap;
    return part;
  });
  return markup`<svg xmlns="http://www.w3.org/2000/svg" class="cpi-trace" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img" aria-label="${plain(summaryOf(calls))}">${traceMark as Markup}
<title>${plain('CPI calls')}</title>
<style>${pictureStyle}</style>
<rect class="paper" width="${width}" height="${y}"/>
<g transform="translate(${margin} ${margin})">${legend.markup}</g>
${drawn}
</svg>
`;
}

/** Returns one sentence for the number of calls, their time and their failures. */
export function summaryOf(calls: readonly TraceCall[]): string {
  const [first] = calls;
  if (first === undefined) return 'No CPI call';
  const end = calls.reduce((latest, { start, ms }) => Math.max(latest, start + ms), 0);
  const failed = calls.filter(isFailed).length;
  const total = calls.reduce((sum, { ms }) => sum + ms, 0);
  const number = calls.length === 1 ? '1 CPI call' : `${calls.length} CPI calls`;
  return `${number} from ${formatTime(first.start)} to ${formatTime(end)} UTC, ${failed === 0 ? 'none' : failed} failed, ${formatDuration(total)} in total`;
}

function renderLegend(kinds: readonly ShownKind[]): { readonly markup: Markup; readonly height: number } {
  const columns = Math.floor((width - 2 * margin) / legendColumn);
  const known = Object.keys(kindTexts).filter((kind): kind is ShownKind =>
    kinds.some((each) => each === kind),
  );
  const items = known.map((kind, index) => {
    const [x, y] = [(index % columns) * legendColumn, Math.floor(index / columns) * legendRow];
    return markup`<rect class="${plain(kind)}" x="${x}" y="${y}" width="14" height="12" rx="2"/><text x="${x + 20}" y="${y + 10}">${plain(kindTexts[kind])}</text>`;
  });
  return { markup: markup`${items}`, height: Math.ceil(known.length / columns) * legendRow + margin };
}

function renderSection({ start, ms, bars, lanes }: Section): Markup {
  const scale = (width - 2 * margin) / ms;
  const height = lanes * laneHeight;
  const top = headingHeight + axisHeight;
  const count = bars.length === 1 ? '1 call' : `${bars.length} calls`;
  const marks = axisMarks(ms).map((time) => {
    const x = time * scale;
    const anchor = x > width - 2 * margin - 40 ? plain('end') : plain(x < 20 ? 'start' : 'middle');
    return markup`<line class="grid" x1="${x}" x2="${x}" y1="${top - 4}" y2="${top + height}"/><text class="axis" x="${x}" y="${top - 8}" text-anchor="${anchor}">${plain(time === 0 ? '0' : formatDuration(time))}</text>`;
  });
  return markup`<text class="heading" y="16">${plain(`${formatTime(start)} UTC, ${count} in ${formatDuration(ms)}`)}</text>${marks}<g transform="translate(0 ${top})">${bars.map((bar) => renderBar(bar))}</g>`;
}

function renderBar({ call, lane, x, width: length, label }: Bar): Markup {
  const y = lane * laneHeight + laneHeight - barHeight - 4;
  const scale = call.ms === 0 ? 0 : length / call.ms;
  const parts = partsOf(call)
    .filter(({ ms }) => ms * scale >= 0.2)
    .map(
      (part) =>
        markup`<rect class="${plain(part.kind)}" x="${x + part.at * scale}" y="${y}" width="${part.ms * scale}" height="${barHeight}"><title>${plain(`${describePart(part)}\n${describeCall(call)}`)}</title></rect>`,
    );
  const frame = plain(isFailed(call) ? 'frame failed' : 'frame');
  const textClass = plain(isFailed(call) ? 'failed' : 'label');
  const title = plain(describeCall(call));
  return markup`<g>${parts}<rect class="${frame}" x="${x}" y="${y}" width="${length}" height="${barHeight}"/><text class="${textClass}" x="${label.x}" y="${y - 4}" text-anchor="${plain(label.anchor)}"><title>${title}</title>${plain(label.text)}</text></g>
`;
}
