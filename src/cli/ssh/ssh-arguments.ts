import type { ParseArgsOptionsConfig } from 'node:util';
import type { ProductError } from '../../errors/product-error.ts';
import { inputOptions, readEnvInputs, type EnvInputs } from '../args/env-arguments.ts';
import { expandHome, invalidArguments, parseCommandLine } from '../args/parse-command-line.ts';

/** Operands of the commands. */
export const sshUsage = {
  ssh: 'MANIFEST|DIRECTORY [-- COMMAND]',
  scp: 'MANIFEST|DIRECTORY FROM... TO',
  logs: 'MANIFEST|DIRECTORY',
} as const;

interface Common {
  readonly inputs: EnvInputs;
  /** Additional options of OpenSSH. */
  readonly sshOptions: readonly string[];
}

export interface SshArguments extends Common {
  /** The VM's shell joins these arguments. Empty for a login shell. */
  readonly command: readonly string[];
}

export interface ScpArguments extends Common {
  readonly recursive: boolean;
  readonly paths: readonly ScpPath[];
}

export interface ScpPath {
  readonly path: string;
  readonly isInVm: boolean;
}

/** The source of the logs. `job` is sys/log. */
export type LogType = 'job' | 'agent' | 'system';

export interface LogsArguments extends Common {
  readonly types: readonly LogType[];
  readonly jobs: readonly string[];
  /** Globs relative to the log directory. */
  readonly filters: readonly string[];
  /** Absolute or relative path of a directory. */
  readonly directory: string;
  readonly follow: boolean;
  /** The number of lines to show of each file. Undefined: download the files. */
  readonly lines: number | undefined;
}

const common = {
  ...inputOptions,
  opts: { type: 'string', multiple: true, value: 'OPTION', help: 'An option of ssh, as --opts=-4' },
} as const;

/** The flags of the commands. */
export const sshFlags = {
  ssh: common,
  scp: { ...common, recursive: { type: 'boolean', short: 'r', help: 'Copy directories' } },
  logs: {
    ...common,
    dir: { type: 'string', value: 'DIRECTORY', help: 'Where the archive is written' },
    agent: { type: 'boolean', help: 'Logs of the agent instead of those of jobs' },
    system: { type: 'boolean', help: 'Logs of the system instead of those of jobs' },
    'all-logs': { type: 'boolean', help: 'Logs of the agent, the system and jobs' },
    job: { type: 'string', multiple: true, value: 'JOB', help: 'Only logs of this job' },
    only: { type: 'string', value: 'FILTERS', help: 'Only files that match these globs, with commas' },
    follow: { type: 'boolean', short: 'f', help: 'Show the ends of the logs, and what is added' },
    num: { type: 'string', value: 'N', help: 'Show the last N lines of each log' },
  },
} as const;

/** Throws INVALID_ARGUMENT with the command's usage. */
export function parseSshArguments(args: readonly string[]): SshArguments {
  const end = args.indexOf('--');
  const [own, command] = end < 0 ? [args, []] : [args.slice(0, end), args.slice(end + 1)];
  const { values, manifestPath, rest } = parse('ssh', own, sshFlags.ssh);
  if (rest.length > 0) throw invalidArgument('ssh', 'Name one manifest; a command comes after --');
  return { inputs: readEnvInputs(manifestPath, values), sshOptions: values.opts ?? [], command };
}

/** Throws INVALID_ARGUMENT with the command's usage. */
export function parseScpArguments(args: readonly string[]): ScpArguments {
  const { values, manifestPath, rest } = parse('scp', args, sshFlags.scp);
  // As in scp, the part before a colon is a host, which here is the VM.
  const paths = rest.map((text) => {
    const inVm = /^[^/:]*:(.*)$/su.exec(text)?.[1];
    return { path: inVm ?? text, isInVm: inVm !== undefined };
  });
  if (paths.length < 2) throw invalidArgument('scp', 'Name a path to copy from and a path to copy to');
  if (!paths.some(({ isInVm }) => isInVm)) throw invalidArgument('scp', 'No path is in the VM');
  const inputs = readEnvInputs(manifestPath, values);
  return { inputs, sshOptions: values.opts ?? [], recursive: values.recursive === true, paths };
}

/** Throws INVALID_ARGUMENT with the command's usage. */
export function parseLogsArguments(args: readonly string[]): LogsArguments {
  const { values, manifestPath, rest } = parse('logs', args, sshFlags.logs);
  if (rest.length > 0) throw invalidArgument('logs', 'Name one manifest');
  const { job: jobs = [], only, num } = values;
  const types = typesOf(values);
  const follow = values.follow === true;
  const problem = logsProblem({ jobs, types, num, isFiltered: only !== undefined, follow });
  if (problem !== undefined) throw invalidArgument('logs', problem);
  return {
    ...{ inputs: readEnvInputs(manifestPath, values), sshOptions: values.opts ?? [], types, jobs, follow },
    filters: only?.split(',') ?? jobs.map((name) => `${name}/**/*`),
    directory: expandHome(values.dir ?? '.'),
    lines: num === undefined ? undefined : Number(num),
  };
}

function logsProblem(request: {
  readonly jobs: readonly string[];
  readonly types: readonly LogType[];
  readonly num: string | undefined;
  readonly isFiltered: boolean;
  readonly follow: boolean;
}): string | undefined {
  const { jobs, types, num, isFiltered, follow } = request;
  // Both become part of a command for the VM's shell.
  if (num !== undefined && !/^[1-9][0-9]{0,5}$/.test(num)) return '--num needs a number of lines';
  const invalidJob = jobs.find((name) => !/^[A-Za-z0-9_][\w.-]*$/.test(name));
  if (invalidJob !== undefined) return `'${invalidJob}' is not a valid job name`;
  if (jobs.length > 0 && !types.includes('job'))
    return '--job cannot be used with --agent or --system, which exclude the logs of jobs';
  if (isFiltered && (follow || num !== undefined || jobs.length > 0))
    return '--only cannot be used with --job, -f or --num';
  return undefined;
}

function typesOf(values: {
  readonly agent?: boolean;
  readonly system?: boolean;
  readonly 'all-logs'?: boolean;
}): readonly LogType[] {
  if (values['all-logs'] === true) return ['agent', 'job', 'system'];
  const requested: readonly LogType[] = [
    ...(values.agent === true ? (['agent'] as const) : []),
    ...(values.system === true ? (['system'] as const) : []),
  ];
  return requested.length > 0 ? requested : ['job'];
}

function parse<T extends ParseArgsOptionsConfig>(
  command: keyof typeof sshUsage,
  args: readonly string[],
  options: T,
) {
  const { values, positionals } = parseCommandLine(args, options, (problem) =>
    invalidArgument(command, problem),
  );
  const [manifestPath, ...rest] = positionals;
  if (manifestPath === undefined) throw invalidArgument(command, 'A manifest is missing');
  return { values, manifestPath, rest };
}

function invalidArgument(command: keyof typeof sshUsage, problem: string): ProductError {
  return invalidArguments(`${command} ${sshUsage[command]}`)(problem);
}
