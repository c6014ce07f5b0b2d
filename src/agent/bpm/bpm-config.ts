import { ConfigErrors, rootField, type YamlField } from '../../bosh/yaml/yaml-field.ts';
import { parseYaml } from '../../bosh/yaml/parse-yaml.ts';
import type { PathSegment } from '../../platform/path-segment.ts';
import { readFile } from 'node:fs/promises';

/** The configuration of one process in `bpm.yml` (bpm-release: docs/config.md). */
export interface BpmProcessConfig {
  readonly name: PathSegment;
  readonly executable: string;
  readonly arguments: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly workdir: string | undefined;
  /** A hook that runs as root before the process. */
  readonly preStart: string | undefined;
  readonly memoryBytes: number | undefined;
  readonly openFiles: number | undefined;
  readonly coreFileBytes: number | undefined;
  readonly ephemeralDisk: boolean;
  readonly persistentDisk: boolean;
  /** The paths of `additional_volumes`, without those that are only mounted (`mount_only`). */
  readonly volumes: readonly string[];
  /** True if the process runs as root. */
  readonly isPrivileged: boolean;
  readonly shutdownSignal: 'SIGTERM' | 'SIGINT';
  /** Configured options that have no effect without a container. */
  readonly unsupported: readonly string[];
}

/** The paths that decide which `additional_volumes` are allowed. */
export interface VolumePolicy {
  /** `/var/vcap` */
  readonly base: string;
  /** The job's own directories in data and store, which cannot be additional volumes. */
  readonly own: readonly string[];
}

/**
 * Reads the `bpm.yml` of a job; `file` names it in messages. Ignores keys that bpm does not know, as bpm
 * does. Throws AGENT_BPM_CONFIG_INVALID with one line for each error.
 */
export function parseBpmConfig(
  text: string,
  file: string,
  bounds: VolumePolicy,
): readonly BpmProcessConfig[] {
  const problems = new ConfigErrors();
  const root = rootField(
    parseYaml(text, file, 'AGENT_BPM_CONFIG_INVALID', { largeNumbers: 'text' }),
    problems,
  );
  const processes = root
    .get('processes')
    .items()
    .map((field) => parseProcess(field, bounds));
  problems.throwIfAny('AGENT_BPM_CONFIG_INVALID');
  return processes;
}

/** Returns why a path cannot be an additional volume, or undefined if it can. */
export function validateVolumePath(path: string, { base, own }: VolumePolicy): string | undefined {
  if (path.includes('//') || /(^|\/)\.\.?(\/|$)/.test(path) || path.endsWith('/')) {
    return `the path of a volume must be canonical, not '${path}'`;
  }
  if (own.includes(path)) return `'${path}' is the job's own directory, not an additional volume`;
  return path.startsWith(`${base}/`) ? undefined : `'${path}' is not below ${base}`;
}

/** Returns true for names of variables that a shell passes on to its programs. */
export const isVariableName = (name: string): boolean => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);

function parseProcess(field: YamlField, bounds: VolumePolicy): BpmProcessConfig {
  const limits = field.get('limits');
  const unsafe = field.get('unsafe');
  const capabilities = field.get('capabilities').texts();
  const volumes = field
    .get('additional_volumes')
    .items()
    .map((volume) => parseVolume(volume, bounds));
  const hasProcessLimit = limits.get('processes').integer() !== undefined;
  return {
    name: field.get('name').requiredSegment(),
    executable: plainText(field.get('executable'), field.get('executable').requiredText()),
    arguments: field
      .get('args')
      .items()
      // bpm leaves out an item without a value. An empty string is an empty argument.
      .flatMap((item) => item.text() ?? [])
      .map((text) => plainText(field.get('args'), text)),
    environment: parseEnvironment(field.get('env')),
    workdir: notEmpty(field.get('workdir').text()),
    preStart: notEmpty(field.get('hooks').get('pre_start').text()),
    memoryBytes: parseBytes(limits.get('memory')),
    openFiles: notNegative(limits.get('open_files')),
    coreFileBytes: notNegative(limits.get('core_file_size')),
    ephemeralDisk: field.get('ephemeral_disk').boolean() ?? false,
    persistentDisk: field.get('persistent_disk').boolean() ?? false,
    volumes: volumes.flatMap(({ path, isMountOnly }) => (isMountOnly ? [] : [path])),
    isPrivileged: unsafe.get('privileged').boolean() ?? false,
    shutdownSignal: parseSignal(field.get('shutdown_signal')),
    unsupported: [
      ...(capabilities.length === 0 ? [] : [`capabilities ${capabilities.join(', ')}`]),
      ...(hasProcessLimit ? ['limits.processes'] : []),
    ],
  };
}

function parseVolume(
  field: YamlField,
  bounds: VolumePolicy,
): { readonly path: string; readonly isMountOnly: boolean } {
  const path = field.get('path').requiredText();
  const problem = path === '' ? undefined : validateVolumePath(path, bounds);
  if (problem !== undefined) field.get('path').problem(problem);
  return { path, isMountOnly: field.get('mount_only').boolean() ?? false };
}

function parseEnvironment(field: YamlField): Readonly<Record<string, string>> {
  return Object.fromEntries(
    field.entries().map(([name, value]) => {
      if (!isVariableName(name)) value.problem('is not a valid name of an environment variable');
      return [name, plainText(value, value.text() ?? '')];
    }),
  );
}

// The kernel ends arguments and variables at a NUL, so no program can get text after it.
function plainText(field: YamlField, text: string): string {
  if (text.includes('\0')) field.problem('has a NUL');
  return text;
}

const notEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

function notNegative(field: YamlField): number | undefined {
  const value = field.integer();
  if (value !== undefined && value < 0) field.problem('must not be negative');
  return value;
}

const exponents: Readonly<Record<string, number>> = { B: 0, K: 1, M: 2, G: 3, T: 4, P: 5, E: 6 };

// Reads a size as bytefmt of bpm does: 512M, 1.5G, 1GiB.
function parseBytes(field: YamlField): number | undefined {
  const text = field.text();
  if (text === undefined) return undefined;
  const match = /^\s*([0-9]+(?:\.[0-9]+)?)\s*(?:([KMGTPE])(?:I?B)?|(B))\s*$/i.exec(text);
  const exponent = exponents[(match?.[2] ?? match?.[3] ?? '').toUpperCase()];
  const bytes = exponent === undefined ? 0 : Math.floor(Number(match?.[1]) * 1024 ** exponent);
  if (bytes > 0) return bytes;
  field.problem('must be a number above 0 with a unit, for example 512M or 1G');
  return undefined;
}

function parseSignal(field: YamlField): 'SIGTERM' | 'SIGINT' {
  const text = field.text() ?? '';
  if (!['', 'TERM', 'INT'].includes(text)) field.problem('must be TERM or INT');
  return text === 'INT' ? 'SIGINT' : 'SIGTERM';
}

// The limit that bpm's own script sets (bpm-release: jobs/bpm/templates/bpm).
const defaultOpenFiles = 524_288;

/**
 * Returns the arguments of prlimit(1) for a process. No limit is above the hard limit of this process,
 * because in a pod no process can raise it. The memory limit applies to writable memory (RLIMIT_DATA), since
 * runtimes reserve far more address space than they use.
 */
export async function resourceLimits(config: BpmProcessConfig): Promise<readonly string[]> {
  const own = await readFile('/proc/self/limits', 'utf8');
  const limit = (option: string, name: string, requested: number): string => {
    const value = Math.min(requested, hardLimitOf(own, name));
    return `--${option}=${value}:${value}`;
  };
  return [
    limit('nofile', 'Max open files', config.openFiles ?? defaultOpenFiles),
    limit('core', 'Max core file size', config.coreFileBytes ?? 0),
    ...(config.memoryBytes === undefined ? [] : [limit('data', 'Max data size', config.memoryBytes)]),
  ];
}

/** Returns the hard limit of that name in /proc/self/limits, or Infinity if there is none. */
function hardLimitOf(limits: string, name: string): number {
  const line = limits.split('\n').find((text) => text.startsWith(name)) ?? '';
  const [, hard = ''] = line.slice(name.length).trim().split(/\s+/);
  return /^[0-9]+$/.test(hard) ? Number(hard) : Infinity;
}
