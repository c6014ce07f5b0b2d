import type { ActionResult, ProcessStatus } from '../job-supervisor.ts';
import type { ServiceAction } from '../dependency-group.ts';
import { monitVersion, type StatusFacts, statusText, summaryText } from './status-text.ts';

const versionText = `This is Monit version ${monitVersion}
as provided by the agent of bosh-kubernetes
`;

const helpText = `Usage: monit [options] {arguments}
Options are as follows:
 -g name       Set group name for start, stop, restart, monitor and unmonitor
 -V            Print version number
 -h            Print this text
Arguments are as follows:
 start all           - Start all services
 start name          - Only start the named service
 stop all            - Stop all services
 stop name           - Only stop the named service
 restart all         - Stop and start all services
 restart name        - Only restart the named service
 monitor all         - Enable monitoring of all services
 monitor name        - Only enable monitoring of the named service
 unmonitor all       - Disable monitoring of all services
 unmonitor name      - Only disable monitoring of the named service
 reload              - Reset the counters of all rules
 status              - Print full status information for each service
 summary             - Print short status information for each service
`;

/** The output of a command and its exit code. */
export interface CommandResult {
  readonly code: number;
  readonly output: string;
  readonly error: string;
}

/** The parts of the agent that a command uses. */
export interface CommandPorts {
  readonly processes: () => Promise<readonly ProcessStatus[]>;
  readonly request: (name: string, action: ServiceAction) => ActionResult;
  readonly reload: () => void;
  readonly facts: () => Promise<StatusFacts>;
}

/**
 * Runs a `monit` command as monit 5.2.5 does. Actions are only accepted here; the agent does them afterwards.
 */
export async function runCommand(args: readonly string[], ports: CommandPorts): Promise<CommandResult> {
  const command = parseCommand(args);
  switch (command.kind) {
    case 'invalid':
      return failed(command.cause);
    case 'version':
      return succeeded(versionText);
    case 'help':
      return succeeded(helpText);
    case 'summary':
      return succeeded(summaryText(await ports.processes(), await ports.facts()));
    case 'status':
      return succeeded(statusText(await ports.processes(), await ports.facts()));
    case 'reload':
      ports.reload();
      return { code: 0, output: '', error: 'Reinitializing monit daemon\n' };
    case 'action': {
      const processes = await ports.processes();
      const problems = namesOf(command, processes).flatMap((name) => {
        const problem = problemOf(ports.request(name, command.action));
        return problem === undefined ? [] : [`action failed -- ${problem}`];
      });
      return problems.length === 0 ? succeeded('') : failed(...problems);
    }
  }
}

function namesOf(
  { group, name }: { readonly group: string | undefined; readonly name: string | undefined },
  processes: readonly ProcessStatus[],
): readonly string[] {
  const names = processes.map((process) => process.name);
  if (group !== undefined) {
    const groupName = group.toLowerCase();
    const isMember = ({ definition }: ProcessStatus): boolean =>
      definition.groups.some((one) => one.toLowerCase() === groupName);
    return processes.filter(isMember).map((process) => process.name);
  }
  return name === 'all' ? names : [name ?? ''];
}

const actionProblems: Readonly<Record<Exclude<ActionResult, 'accepted'>, string>> = {
  busy: 'Other action already in progress -- please try again later',
  unknown: 'There is no service by that name',
  'shut down': 'jobs are not started: the director has shut this VM down',
};

function problemOf(answer: ActionResult): string | undefined {
  if (answer === 'accepted') return undefined;
  return actionProblems[answer];
}

const succeeded = (output: string): CommandResult => ({ code: 0, output, error: '' });

function failed(...causes: readonly string[]): CommandResult {
  return { code: 1, output: '', error: causes.map((cause) => `monit: ${cause}\n`).join('') };
}

type Command =
  | { readonly kind: 'summary' | 'status' | 'reload' | 'version' | 'help' }
  | {
      readonly kind: 'action';
      readonly action: ServiceAction;
      /** Takes precedence over `name`. */
      readonly group: string | undefined;
      /** A service or `all`. */
      readonly name: string | undefined;
    }
  | { readonly kind: 'invalid'; readonly cause: string };

const actions: readonly ServiceAction[] = ['start', 'stop', 'restart', 'monitor', 'unmonitor'];
// These options of monit have an argument. Options about its daemon or its control file have no effect.
const withArgument = new Set(['c', 'd', 'g', 'l', 'p', 's']);
const flags = new Set(['i', 'I', 'v']);

/** Reads the arguments of a `monit` command. Options may be at any position (monit: src/monitor.c). */
function parseCommand(args: readonly string[]): Command {
  const options = readOptions(args);
  if ('kind' in options) return options;
  const { group, values } = options;
  const [kind, name] = values;
  if (kind === 'summary' || kind === 'status' || kind === 'reload') return { kind };
  const action = actions.find((one) => one === kind);
  if (action === undefined) {
    const what = kind === undefined ? 'no argument' : `invalid argument -- ${kind}`;
    return invalid(`${what}  (-h will show valid arguments)`);
  }
  if (group === undefined && name === undefined)
    return invalid(`please specify the configured service name or 'all' after ${action}`);
  return { kind: 'action', action, group, name };
}

interface Options {
  readonly group: string | undefined;
  /** The arguments that are not options. */
  readonly values: readonly string[];
}

function readOptions(args: readonly string[]): Options | Command {
  const values: string[] = [];
  let group: string | undefined;
  const remaining = [...args];
  for (let arg = remaining.shift(); arg !== undefined; arg = remaining.shift()) {
    const option = /^-(.)/.exec(arg)?.[1];
    if (option === undefined) values.push(arg);
    else if (option === 'V') return { kind: 'version' };
    else if (option === 'h') return { kind: 'help' };
    else if (withArgument.has(option)) {
      const value = arg.slice(2) || remaining.shift();
      if (value === undefined) return invalid(`option -- ${option} requires an argument`);
      if (option === 'g') group = value;
    } else if (flags.has(option)) {
      if (arg.length > 2) remaining.unshift(`-${arg.slice(2)}`);
    } else return invalid(`invalid option -- ${option}  (-h will show valid options)`);
  }
  return { group, values };
}

const invalid = (cause: string): Command => ({ kind: 'invalid', cause });
