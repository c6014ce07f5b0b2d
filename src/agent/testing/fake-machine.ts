import { type MonitService, sortByDependencies } from '../../bosh/monit/monit-service.ts';
import { parseMonit } from '../../bosh/monit/parse-monit.ts';
import type { SupervisionRecord } from '../monit/supervision-state.ts';
import type { ConnectionTest } from '../monit/probes.ts';
import { DependencyGroup } from '../monit/dependency-group.ts';
import { SupervisedService } from '../monit/supervised-service.ts';
import type { SupervisionPorts } from '../monit/supervision-ports.ts';
import type { StartedProgram } from '../process/programs.ts';
import type { LiveProcess } from '../process/process-table.ts';
import { ManualClock } from './manual-clock.ts';

/**
 * A machine with the programs `/start NAME`, `/stop NAME` and `/fail NAME`. Any other program only adds to
 * the trace.
 */
export class FakeMachine {
  readonly clock = new ManualClock();
  /** The programs that have run, in order: `start web`. */
  readonly trace: string[] = [];
  readonly log: string[] = [];
  /** The alerts that were sent: `web: Does not exist - restart`. */
  readonly alerts: string[] = [];
  /** The running processes by name. A process is matched by the name of its service. */
  readonly living = new Map<string, LiveProcess>();
  readonly usage = { memoryKilobytes: 1000, cpuSeconds: 0 };
  readonly files = new Map<string, { changedAt: number; checksum: string }>();
  connection: (test: ConnectionTest) => string | undefined = () => undefined;
  load: readonly number[] = [0, 0, 0];
  readonly #records = new Map<string, SupervisionRecord>();
  #pid = 100;

  /** Returns the programs that have run since the last call. */
  traced(): string {
    return this.trace.splice(0).join(', ');
  }

  /** Returns the alerts that were sent since the last call. */
  alerted(): string {
    return this.alerts.splice(0).join(', ');
  }

  end(name: string): void {
    this.living.delete(name);
  }

  /** Returns the services of a monit file, as one dependency group of an agent that has just started. */
  chain(text: string): DependencyGroup {
    const services = sortByDependencies(parseMonit(text, 'job')).map(
      (definition) =>
        new SupervisedService(definition, this.#ports, this.#records.get(definition.name) ?? {}),
    );
    return new DependencyGroup(services, this.#ports);
  }

  get #ports(): SupervisionPorts {
    const write = (line: string): void => void this.log.push(line);
    return {
      clock: this.clock,
      log: { info: write, error: write },
      newMark: () => 'mark',
      scriptMark: () => undefined,
      rotate: async () => undefined,
      alert: ({ service, event, action }) => void this.alerts.push(`${service}: ${event} - ${action}`),
      remember: async (name, record) => void this.#records.set(name, record),
      launch: (service, program) => this.#launch(service, program.arguments),
      table: {
        find: async (pid) => [...this.living.values()].find((one) => one.pid === pid),
        matching: async (pattern) =>
          [...this.living].filter(([name]) => pattern.test(name)).map(([, { pid }]) => pid),
        list: async () =>
          [...this.living.values()].map((one) => ({ ...one, ...this.usage, parentPid: 1, sessionId: 1 })),
        signal: async (identity) => {
          const found = [...this.living].find(([, { pid }]) => pid === identity.pid);
          return found !== undefined && this.living.delete(found[0]);
        },
        openHandlesBelow: async () => [],
      },
      probes: {
        file: async (path) => this.files.get(path),
        checksum: async (path) => this.files.get(path)?.checksum ?? '',
        connect: async (test) => this.connection(test),
        loadAverages: () => this.load,
        memoryKilobytes: 10_000,
        processors: 1,
      },
    };
  }

  #launch({ name }: MonitService, [file, ...args]: readonly string[]): StartedProgram {
    this.trace.push([file?.slice(1), ...args].join(' '));
    if (file === '/start') this.living.set(name, this.#newProcess(name));
    if (file === '/stop') this.end(name);
    const code = file === '/fail' ? 1 : 0;
    return {
      exit: Promise.resolve({ code, signal: undefined, failure: undefined }),
      signal: () => undefined,
    };
  }

  #newProcess(name: string): LiveProcess {
    const pid = this.#pid++;
    return {
      ...{ pid, name, startTicks: pid, userIds: [0, 0], mark: 'mark' },
      ...{ startedAt: this.clock.now(), memoryKilobytes: 0, cpuSeconds: 0 },
    };
  }
}

/** Returns a check of a process that is matched by its name, with `/start NAME` and `/stop NAME`. */
export const matched = (name: string, clauses = ''): string => `check process ${name} matching "^${name}$"
  start program "/start ${name}"
  stop program "/stop ${name}"
  group vcap
  ${clauses}
`;
