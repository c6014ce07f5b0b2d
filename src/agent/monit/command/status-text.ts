import type { MonitService } from '../../../bosh/monit/monit-service.ts';
import type { ProcessUsage } from '../../process/process-table.ts';
import type { ProcessStatus } from '../job-supervisor.ts';
import { sampleTree } from '../process-sample.ts';
import type { ServiceProblem } from '../service-alert.ts';

/** The version of monit that scripts are written for. */
export const monitVersion = '5.2.5';

/** The facts that a status shows beside the services. */
export interface StatusFacts {
  readonly now: number;
  /** The start of the agent, in milliseconds since the epoch. */
  readonly startedAt: number;
  readonly hostname: string;
  readonly loadAverages: readonly number[];
  readonly memoryKilobytes: number;
  readonly processors: number;
  readonly usages: readonly ProcessUsage[];
}

/** Returns the output of `monit summary` (monit: src/http/cervlet.c, status_service_txt). */
export function summaryText(processes: readonly ProcessStatus[], facts: StatusFacts): string {
  const lines = processes.map((process) => [titleOf(process.definition), statusColumn(process)] as const);
  const all = [...lines, [systemTitle(facts), 'running'] as const];
  return heading(facts) + all.map(([title, args]) => `${title.padEnd(35)} ${args}\n`).join('');
}

/** Returns the output of `monit status`. */
export function statusText(processes: readonly ProcessStatus[], facts: StatusFacts): string {
  const sections = processes.map((process) =>
    section(titleOf(process.definition), [
      ['status', statusColumn(process)],
      ['monitoring status', monitoringOf(process)],
      ...detailsOf(process, facts),
      ['data collected', dateText(facts.now)],
    ]),
  );
  const system = section(systemTitle(facts), [
    ['status', 'running'],
    ['monitoring status', 'monitored'],
    ['load average', facts.loadAverages.map((load) => `[${load.toFixed(2)}]`).join(' ')],
    ['data collected', dateText(facts.now)],
  ]);
  return heading(facts) + [...sections, system].join('');
}

function heading({ now, startedAt }: StatusFacts): string {
  return `The Monit daemon ${monitVersion} uptime: ${durationText(now - startedAt)}\n\n`;
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  return `${title}\n${rows.map(([name, value]) => `  ${name.padEnd(33)} ${value}\n`).join('')}\n`;
}

const titles = { pidfile: 'Process', matching: 'Process', file: 'File', host: 'Remote Host' };
const upText = {
  ...{ pidfile: 'running', matching: 'running' },
  ...{ file: 'accessible', host: 'online with all services' },
};

const titleOf = ({ name, subject }: MonitService): string => `${titles[subject.kind]} '${name}'`;

const systemTitle = ({ hostname }: StatusFacts): string => `System 'system_${hostname}'`;

/** If a service has several problems, the first one in this order is shown, as in monit. */
const problemOrder: readonly ServiceProblem[] = [
  ...(['Checksum changed', 'Connection failed', 'Execution failed', 'Does not exist'] as const),
  ...(['PID changed', 'PPID changed', 'Resource limit matched', 'Timestamp changed'] as const),
];

function statusColumn(process: ProcessStatus): string {
  const pending = process.pending === undefined ? '' : ` - ${process.pending} pending`;
  return `${stateText(process)}${pending}`;
}

function stateText({ state, problems, definition }: ProcessStatus): string {
  if (state === 'unmonitored') return 'not monitored';
  if (state === 'starting') return 'initializing';
  return problemOrder.find((one) => problems.includes(one)) ?? upText[definition.subject.kind];
}

function monitoringOf({ state }: ProcessStatus): string {
  if (state === 'unmonitored') return 'not monitored';
  return state === 'starting' ? 'initializing' : 'monitored';
}

function detailsOf(
  { live, state }: ProcessStatus,
  { now, usages, memoryKilobytes, processors }: StatusFacts,
): readonly (readonly [string, string])[] {
  const sample = live === undefined ? undefined : sampleTree(live, usages, now);
  if (live === undefined || sample === undefined || state === 'unmonitored') return [];
  const percent = (part: number, whole: number): string => `${((part / whole) * 100).toFixed(1)}%`;
  const seconds = Math.max(1, (now - live.startedAt) / 1000) * processors;
  const used = [...sample.cpuSeconds.values()];
  return [
    ['pid', String(live.pid)],
    ['parent pid', String(sample.parentPid)],
    ['uptime', durationText(now - live.startedAt)],
    ['children', String(sample.children)],
    ['memory kilobytes', String(sample.memoryKilobytes)],
    ['memory kilobytes total', String(sample.totalMemoryKilobytes)],
    ['memory percent', percent(sample.memoryKilobytes, memoryKilobytes)],
    ['memory percent total', percent(sample.totalMemoryKilobytes, memoryKilobytes)],
    // The average since the start of the process.
    ['cpu percent', percent(used[0] ?? 0, seconds)],
    [
      'cpu percent total',
      percent(
        used.reduce((sum, one) => sum + one, 0),
        seconds,
      ),
    ],
  ];
}

/** Returns `1d 2h 3m `, with a blank at the end as in monit. */
function durationText(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000);
  const hours = Math.floor(minutes / 60);
  const days = Math.floor(hours / 24);
  const parts = [
    ...(days > 0 ? [`${days}d `] : []),
    ...(hours > 0 ? [`${hours % 24}h `] : []),
    `${minutes % 60}m `,
  ];
  return parts.join('');
}

/** Formats a time as ctime(3): `Thu Nov  6 15:38:51 2026`. */
function dateText(milliseconds: number): string {
  const date = new Date(milliseconds);
  const [day = '', month = ''] = date.toDateString().split(' ');
  const time = date.toTimeString().slice(0, 8);
  return `${day} ${month} ${String(date.getDate()).padStart(2)} ${time} ${date.getFullYear()}`;
}
