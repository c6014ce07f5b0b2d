import type { Markup } from './markup.ts';
import type { ShownKind } from './texts.ts';

/** The colours of a kind on light and on dark paper. Each has a contrast of 3:1 or more to its paper. */
const kindColours: Readonly<Record<ShownKind, readonly [light: string, dark: string]>> = {
  read: ['#4e79a7', '#7fb0e6'],
  write: ['#1d3f73', '#4a86d8'],
  exec: ['#1b8a7d', '#56c8ba'],
  schedule: ['#b58900', '#f0cc4a'],
  mount: ['#d9650d', '#f5934a'],
  pull: ['#9b3f93', '#d986d0'],
  start: ['#3f8f35', '#78c96c'],
  delete: ['#7a5547', '#b98f7e'],
  wait: ['#6a5acd', '#a79bf5'],
  other: ['#858b93', '#8d949e'],
};

const paperColours = {
  paper: ['#ffffff', '#16181d'],
  text: ['#1b1f24', '#e6e8eb'],
  quiet: ['#57606a', '#a0a8b2'],
  grid: ['#e2e5e9', '#2c3038'],
  danger: ['#b42318', '#ff8a80'],
} as const;

const variables = (index: 0 | 1): string =>
  Object.entries({ ...paperColours, ...kindColours })
    .map(([name, colours]) => `--${name}:${colours[index]}`)
    .join(';');

const fills = Object.keys(kindColours)
  .map((kind) => `.cpi-trace .${kind}{fill:var(--${kind})}`)
  .join('');

/** The style of the picture, also of one that is not in a page. */
export const pictureStyle = `
:root{color-scheme:light dark;${variables(0)}}
@media (prefers-color-scheme: dark){:root{${variables(1)}}}
.cpi-trace{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.cpi-trace text{fill:var(--text)}
.cpi-trace .paper{fill:var(--paper)}
.cpi-trace .heading{font-weight:600;font-size:13px}
.cpi-trace .axis{fill:var(--quiet);font-size:11px}
.cpi-trace .grid{stroke:var(--grid)}
.cpi-trace .frame{fill:none;pointer-events:none}
.cpi-trace .frame.failed{stroke:var(--danger);stroke-width:2}
.cpi-trace text.failed{fill:var(--danger);font-weight:600}
${fills}
` as Markup;

/** The style of the page around the picture. */
export const pageStyle = `
body{margin:0 auto;max-width:1002px;padding:16px;background:var(--paper);color:var(--text);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:22px;margin:8px 0}h2{font-size:17px;margin:28px 0 8px}
p{margin:6px 0;color:var(--quiet)}
.scroll{overflow-x:auto;border:1px solid var(--grid);border-radius:6px}
.scroll:focus-visible{outline:2px solid var(--read)}
.scroll>svg{display:block}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;vertical-align:top;padding:6px 10px;border-bottom:1px solid var(--grid)}
th{font-weight:600;white-space:nowrap}
tbody tr:last-child td{border-bottom:0}
.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
.cid{font-family:ui-monospace,"DejaVu Sans Mono",monospace;font-size:12.5px;overflow-wrap:anywhere;min-width:160px}
.failed{color:var(--danger)}
summary{cursor:pointer;font-size:17px;font-weight:600;margin:28px 0 8px}
` as Markup;
