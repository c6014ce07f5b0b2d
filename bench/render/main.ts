import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { findRuby, rendererOf } from '../../src/bosh/template/create-template-renderer.ts';
import {
  withNamespaces,
  nativeRuby,
  wasmRuby,
  type RubyCommand,
} from '../../src/bosh/template/ruby-command.ts';
import type { TemplateToRender } from '../../src/bosh/template/template-renderer.ts';
import { formatTable } from '../../src/cli/output/table.ts';
import { childrenOf } from '../../test/support/machine.ts';
import { median } from '../median.ts';

/**
 * Measures ratios of ruby.wasm to an installed ruby, in one run and in turn: the time until it can render,
 * the time per template of 100, and the peak memory of the process. `npm run bench:render [-- --rounds N]`
 */
const { values } = parseArgs({ options: { rounds: { type: 'string', default: '7' } } });
const templateCount = 100;

/** Templates like those of published jobs: a start script, a YAML and a JSON file of nested properties. */
const sources = [
  `#!/bin/bash
<% if_p('web.log_level') do |level| %>export LOG_LEVEL=<%= level %><% end.else do %>export LOG_LEVEL=info<% end %>
<% p('web.backends').each_with_index do |backend, index| -%>
export BACKEND_<%= index %>="<%= backend['host'] %>:<%= backend['port'] %>"
<% end -%>
exec /var/vcap/packages/web/bin/web --port <%= p('web.port') %> --address <%= spec.address %>
`,
  `<%
require 'yaml'
config = { 'port' => p('web.port'), 'backends' => p('web.backends'), 'tls' => p('web.tls', {}) }
%>
<%= YAML.dump(config) %>
`,
  `<%= JSON.pretty_generate('backends' => p('web.backends').map { |one| one.merge('index' => spec.index) }) %>
`,
];

function templates(): readonly TemplateToRender[] {
  const backends = Array.from({ length: 30 }, (_, index) => ({
    host: `10.0.0.${index}`,
    port: 8000 + index,
  }));
  return Array.from({ length: templateCount }, (_, index) => ({
    name: `web/templates/${index}.erb`,
    template: sources[index % sources.length] ?? '',
    context: {
      index: 0,
      id: 'bench',
      az: 'z1',
      bootstrap: true,
      job: { name: 'web' },
      deployment: 'bench',
      address: '10.0.0.1',
      networks: {},
      global_properties: {},
      cluster_properties: {},
      job_properties: { web: { port: 8080, backends } },
      default_properties: { 'web.port': null, 'web.backends': [], 'web.tls': {}, 'web.log_level': null },
    },
  }));
}

interface Sample {
  readonly startMs: number;
  readonly templateMs: number;
  readonly memoryMiB: number;
}

async function measure(command: RubyCommand): Promise<Sample> {
  const renderer = rendererOf([command], {});
  try {
    const begin = performance.now();
    await renderer.start();
    const started = performance.now();
    await renderer.render(templates());
    const rendered = performance.now();
    return {
      startMs: started - begin,
      templateMs: (rendered - started) / templateCount,
      memoryMiB: (await largestDescendant(process.pid)) / 1024,
    };
  } finally {
    await renderer.close();
  }
}

/**
 * Returns the largest peak of resident memory among the descendants of a process, in KiB: the other processes
 * only start the ruby.
 */
async function largestDescendant(pid: number): Promise<number> {
  const sizes = (await childrenOf(pid)).map(async (child) => {
    const status = await readFile(`/proc/${child}/status`, 'utf8');
    const own = Number(/^VmHWM:\s+(\d+)/mu.exec(status)?.[1] ?? 0);
    return Math.max(own, await largestDescendant(child));
  });
  return Math.max(0, ...(await Promise.all(sizes)));
}

const ruby = await findRuby(process.env['PATH']);
if (ruby === undefined) throw new Error('There is no ruby on PATH to compare ruby.wasm with: install one');
const commands = { ruby: withNamespaces(nativeRuby(ruby)), 'ruby.wasm': withNamespaces(wasmRuby()) };
const samples: Record<keyof typeof commands, Sample[]> = { ruby: [], 'ruby.wasm': [] };
// in turn, because the speed of the machine varies; the first round fills caches
for (let round = 0; round <= Number(values.rounds); round += 1)
  for (const name of ['ruby', 'ruby.wasm'] as const) {
    const sample = await measure(commands[name]);
    if (round > 0) samples[name].push(sample);
  }

const row = (what: string, unit: string, pick: (sample: Sample) => number): readonly string[] => {
  const [native, wasm] = [median(samples.ruby.map(pick)), median(samples['ruby.wasm'].map(pick))];
  return [what, `${native.toFixed(1)} ${unit}`, `${wasm.toFixed(1)} ${unit}`, (wasm / native).toFixed(1)];
};
process.stdout.write(
  formatTable(
    ['', 'ruby', 'ruby.wasm', 'ratio'],
    [
      row('until it can render', 'ms', ({ startMs }) => startMs),
      row(`a template of ${templateCount}`, 'ms', ({ templateMs }) => templateMs),
      row('memory', 'MiB', ({ memoryMiB }) => memoryMiB),
    ],
  ),
);
