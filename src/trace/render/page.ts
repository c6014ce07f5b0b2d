import type { LoggedCalls } from '../read-calls.ts';
import type { TraceCall } from '../trace-call.ts';
import { type Markup, markup, plain } from './markup.ts';
import { pageStyle } from './style.ts';
import { renderSvg, summaryOf, traceMark } from './svg.ts';
import {
  formatDuration,
  formatTime,
  isFailed,
  kindTexts,
  longestKinds,
  methodText,
  timesByKind,
} from './texts.ts';

const slowestCount = 20;

/**
 * Returns a page with the timeline and its content as tables. The page loads nothing and runs no script; its
 * policy forbids both, also to a browser that would find some in a name.
 */
export function renderPage(log: LoggedCalls, source: string): Markup {
  const { calls } = log;
  const slowest = slowestFirst(calls).slice(0, slowestCount);
  return markup`<!doctype html>
${traceMark as Markup}
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${plain(`CPI calls of ${source}`)}</title>
<style>${pageStyle}</style>
</head>
<body>
<main>
<h1>CPI calls</h1>
<p>${plain(`${summaryOf(calls)}.`)}</p>
${notesOf(log).map((note) => markup`<p>${plain(note)}</p>`)}
<p>Each bar is one call. Hold the pointer over a part of it to see what it is. The tables below have the same content.</p>
<div class="scroll" tabindex="0" role="region" aria-label="Timeline">
${renderSvg(calls)}</div>
<h2>Where the time went</h2>
${renderKinds(calls)}
<h2>The slowest calls</h2>
${renderCalls(slowest)}
<details><summary>${plain(`All calls (${calls.length})`)}</summary>
${renderCalls(calls)}
</details>
</main>
</body>
</html>
`;
}

/** Returns the slowest call first. */
export const slowestFirst = (calls: readonly TraceCall[]): readonly TraceCall[] =>
  calls.toSorted((one, other) => other.ms - one.ms);

/** Returns sentences about what of a log is not shown. */
export function notesOf({ calls, leftOut, unreadable }: LoggedCalls): readonly string[] {
  return [
    ...(leftOut === 0
      ? []
      : [`The log has ${leftOut} older calls, which are not shown: the page has the last ${calls.length}.`]),
    ...(unreadable === 0
      ? []
      : [`${unreadable} of the log's records could not be read: they are damaged or of another version.`]),
  ];
}

function renderKinds(calls: readonly TraceCall[]): Markup {
  const times = timesByKind(calls);
  const total = times.reduce((sum, [, ms]) => sum + ms, 0);
  const rows = times.map(
    ([kind, ms]) =>
      markup`<tr><td><svg class="cpi-trace" width="14" height="12" aria-hidden="true"><rect class="${plain(kind)}" width="14" height="12" rx="2"/></svg> ${plain(kindTexts[kind])}</td><td class="number">${plain(formatDuration(ms))}</td><td class="number">${plain(shareText(ms / total))}</td></tr>
`,
  );
  return markup`<div class="scroll"><table><thead><tr><th scope="col">Part</th><th scope="col" class="number">Time</th><th scope="col" class="number">Share</th></tr></thead><tbody>
${rows}</tbody></table></div>`;
}

const shareText = (share: number): string => (share < 0.005 ? '< 1 %' : `${Math.round(share * 100)} %`);

function renderCalls(calls: readonly TraceCall[]): Markup {
  const rows = calls.map((call) => {
    const { requests } = call;
    const cids = call.cids.map((cid) => markup`${plain(cid)}<br>`);
    const failure = isFailed(call)
      ? markup`<br><span class="failed">${plain(`failed: ${call.result}`)}</span> ${plain(call.message ?? '')}`
      : plain('');
    return markup`<tr><td>${plain(methodText(call))}</td><td class="number">${plain(formatDuration(call.ms))}</td><td>${plain(longestKinds(call))}${failure}</td><td class="cid">${cids}</td><td class="number">${requests.reads + requests.writes + requests.execs}</td><td class="number">${plain(formatTime(call.start))}</td></tr>
`;
  });
  return markup`<div class="scroll" tabindex="0" role="region" aria-label="Calls"><table><thead><tr><th scope="col">Method</th><th scope="col" class="number">Time</th><th scope="col">Longest parts</th><th scope="col">Objects</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Start (UTC)</th></tr></thead><tbody>
${rows}</tbody></table></div>`;
}
