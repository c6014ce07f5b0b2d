import { parseArgs, type ParseArgsOptionsConfig } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { existing, firstSentence, inputOptions, readEnvInputs, type EnvInputs } from '../env-arguments.ts';
import { expandHome } from '../expand-home.ts';

const instance = `${existing.replace('MANIFEST', 'MANIFEST|DIRECTORY')} [--tunnel]`;

/** Usage after the names of the commands. */
export const sshUsage = {
  ssh: `${instance} [--opts=OPTION] [-- COMMAND]`,
  scp: `${instance} [--opts=OPTION] [-r] FROM... TO, where vm:PATH is in the VM`,
  logs: `${instance} [--opts=OPTION] [--dir DIR] [--agent|--system|--all-logs] [--job JOB] [--only FILTERS] [-f] [--num N]`,
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

const common = { ...inputOptions, opts: { type: 'string', multiple: true } } as const;

/** Throws INVALID_ARGUMENT with the command's usage. */
export function parseSshArguments(words: readonly string[]): SshArguments {
  const end = words.indexOf('--');
  const [own, command] = end < 0 ? [words, []] : [words.slice(0, end), words.slice(end + 1)];
  const { values, manifestPath, rest } = parse('ssh', own, common);
  if (rest.length > 0) throw invalidArgument('ssh', 'One manifest is taken; a command stands behind --');
  return { inputs: readEnvInputs(manifestPath, values), sshOptions: values.opts ?? [], command };
}

/** Throws INVALID_ARGUMENT with the command's usage. */
export function parseScpArguments(words: readonly string[]): ScpArguments {
  const options = { ...common, recursive: { type: 'boolean', short: 'r' } } as const;
  const { values, manifestPath, rest } = parse('scp', words, options);
  // As in scp, the part before a colon is a host, which here is the VM.
  const paths = rest.map((text) => {
    const inVm = /^[^/:]*:(.*)$/su.exec(text)?.[1];
    return { path: inVm ?? text, isInVm: inVm !== undefined };
  });
  if (paths.length < 2) throw invalidArgument('scp', 'A path to copy from and one to copy to are needed');
  if (!paths.some(({ isInVm }) => isInVm)) throw invalidArgument('scp', 'No path is in the VM');
  const inputs = readEnvInputs(manifestPath, values);
  return { inputs, sshOptions: values.opts ?? [], recursive: values.recursive === true, paths };
}

/** Throws INVALID_ARGUMENT with the command's usage. */
export function parseLogsArguments(words: readonly string[]): LogsArguments {
  const options = {
    ...common,
    dir: { type: 'string' },
    agent: { type: 'boolean' },
    system: { type: 'boolean' },
    'all-logs': { type: 'boolean' },
    job: { type: 'string', multiple: true },
    only: { type: 'string' },
    follow: { type: 'boolean', short: 'f' },
    num: { type: 'string' },
  } as const;
  const { values, manifestPath, rest } = parse('logs', words, options);
  if (rest.length > 0) throw invalidArgument('logs', 'One manifest is taken');
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

function logsProblem(asked: {
  readonly jobs: readonly string[];
  readonly types: readonly LogType[];
  readonly num: string | undefined;
  readonly isFiltered: boolean;
  readonly follow: boolean;
}): string | undefined {
  const { jobs, types, num, isFiltered, follow } = asked;
  // Both become part of a command for the VM's shell.
  if (num !== undefined && !/^[1-9][0-9]{0,5}$/.test(num)) return '--num wants a number of lines';
  const wrong = jobs.find((name) => !/^[A-Za-z0-9_][\w.-]*$/.test(name));
  if (wrong !== undefined) return `'${wrong}' is no name of a job`;
  if (jobs.length > 0 && !types.includes('job')) return '--job is about the logs of jobs';
  if (isFiltered && (follow || num !== undefined || jobs.length > 0))
    return '--only goes with neither --job nor -f and --num';
  return undefined;
}

function typesOf(values: {
  readonly agent?: boolean;
  readonly system?: boolean;
  readonly 'all-logs'?: boolean;
}): readonly LogType[] {
  if (values['all-logs'] === true) return ['agent', 'job', 'system'];
  const asked: readonly LogType[] = [
    ...(values.agent === true ? (['agent'] as const) : []),
    ...(values.system === true ? (['system'] as const) : []),
  ];
  return asked.length > 0 ? asked : ['job'];
}

function parse<T extends ParseArgsOptionsConfig>(
  command: keyof typeof sshUsage,
  words: readonly string[],
  options: T,
) {
  const { values, positionals } = parseOrThrow(command, () =>
    parseArgs({ args: [...words], options, allowPositionals: true, strict: true }),
  );
  const [manifestPath, ...rest] = positionals;
  if (manifestPath === undefined) throw invalidArgument(command, 'A manifest is missing');
  return { values, manifestPath, rest };
}

function parseOrThrow<T>(command: keyof typeof sshUsage, action: () => T): T {
  try {
    return action();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw invalidArgument(command, firstSentence(error.message));
  }
}

function invalidArgument(command: keyof typeof sshUsage, what: string): ProductError {
  return new ProductError('INVALID_ARGUMENT', `${what}. Usage: ${command} ${sshUsage[command]}`);
}
