import { join } from 'node:path';
import { parseVariable } from '../../bosh/variables/parse-variable.ts';
import { ProductError } from '../../errors/product-error.ts';
import { pickFlags, type Flags } from './flags.ts';
import { expandHome, invalidArguments, parseCommandLine } from './parse-command-line.ts';

/** The parsed flags of `bosh create-env` and `delete-env` that this program supports. */
export interface EnvArguments {
  readonly manifestPath: string;
  /** No manifest was named, so that `manifestPath` is that of the example. */
  readonly isExample: boolean;
  readonly statePath?: string;
  readonly varsStorePath?: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly variableFiles: Readonly<Record<string, string>>;
  readonly varsFiles: readonly string[];
  /** Prefixes of environment variables. */
  readonly varsEnvs: readonly string[];
  readonly opsFiles: readonly string[];
  readonly recreate: boolean;
  readonly recreatePersistentDisks: boolean;
  readonly skipDrain: boolean;
  readonly force: boolean;
  /** Only for `destroy`: also remove the VMs and disks of other deployments. */
  readonly all: boolean;
  /** Open a tunnel to the VM during the run. */
  readonly tunnel: boolean;
  /** Only `destroy` asks a question. */
  readonly nonInteractive: boolean;
  /** This option and the next two belong to `interpolate`. */
  readonly valuePath?: string;
  readonly varErrs: boolean;
  readonly varErrsUnused: boolean;
}

/** Operands of the commands that take a manifest. */
export const envUsage = {
  up: '[MANIFEST]',
  'create-env': 'MANIFEST',
  'delete-env': 'MANIFEST',
  'stop-env': 'MANIFEST',
  'start-env': 'MANIFEST',
  interpolate: 'FILE',
  destroy: '[MANIFEST]',
} as const;

export type EnvCommand = keyof typeof envUsage;

/** Flags of every command with a manifest. */
export const inputOptions = {
  state: { type: 'string', value: 'FILE', help: 'State file (default: MANIFEST-state.json)' },
  'vars-store': { type: 'string', value: 'FILE', help: 'File in which generated variables are kept' },
  var: {
    type: 'string',
    short: 'v',
    multiple: true,
    value: 'NAME=VALUE',
    help: 'Set a variable; the value is YAML',
  },
  'var-file': {
    type: 'string',
    multiple: true,
    value: 'NAME=FILE',
    help: 'Set a variable to the text of a file',
  },
  'vars-file': {
    type: 'string',
    short: 'l',
    multiple: true,
    value: 'FILE',
    help: 'Load variables from a YAML file',
  },
  'vars-env': {
    type: 'string',
    multiple: true,
    value: 'PREFIX',
    help: 'Load variables PREFIX_name of the environment',
  },
  'ops-file': {
    type: 'string',
    short: 'o',
    multiple: true,
    value: 'FILE',
    help: 'Apply an ops file to the manifest',
  },
  tunnel: { type: 'boolean', help: 'Reach the VM through the Kubernetes API' },
} as const;

const options = {
  ...inputOptions,
  path: { type: 'string', value: 'PATH', help: 'Print only the value at a path such as /name' },
  'var-errs': { type: 'boolean', help: 'Fail if a variable has no value' },
  'var-errs-unused': { type: 'boolean', help: 'Fail if a given variable is not used' },
  recreate: { type: 'boolean', help: 'Recreate the VM in any case' },
  'recreate-persistent-disks': {
    type: 'boolean',
    help: 'Move the data to a new disk in any case',
  },
  'skip-drain': { type: 'boolean', help: 'Do not run the drain scripts of jobs' },
  force: { type: 'boolean', short: 'f' },
  all: { type: 'boolean', help: 'Also remove the VMs and disks of other deployments' },
  'non-interactive': { type: 'boolean', short: 'n', help: 'Ask no question' },
  tty: { type: 'boolean', help: 'Has no effect; it is a flag of the bosh CLI' },
} as const;

type OptionName = keyof typeof options;

/** The manifest of `up`, `destroy` and `status` if none is named, relative to the working directory. */
export const exampleManifestPath = join('hello', 'manifest.yml');
const commandsWithExample: readonly EnvCommand[] = ['up', 'destroy'];

const commonFlags: readonly OptionName[] = ['vars-store', 'non-interactive', 'tty'];
const interpolateFlags: readonly OptionName[] = [
  ...commonFlags,
  'var',
  'var-file',
  'vars-file',
  'vars-env',
  'ops-file',
];
const deployFlags: readonly OptionName[] = [...interpolateFlags, 'state', 'skip-drain'];

const allowedFlags: Readonly<Record<EnvCommand, readonly OptionName[]>> = {
  up: [...deployFlags, 'recreate', 'recreate-persistent-disks'],
  'create-env': [...deployFlags, 'recreate', 'recreate-persistent-disks', 'tunnel'],
  'delete-env': [...deployFlags, 'force', 'tunnel'],
  'stop-env': [...deployFlags, 'tunnel'],
  'start-env': [...interpolateFlags, 'state', 'tunnel'],
  interpolate: [...interpolateFlags, 'path', 'var-errs', 'var-errs-unused'],
  destroy: [...commonFlags, 'state', 'force', 'all'],
};

/** The flags of a command that takes a manifest. */
export function envFlags(command: EnvCommand): Flags {
  const force = {
    ...options.force,
    help: command === 'destroy' ? 'Remove without a question' : 'Continue although VM and disks are missing',
  };
  return pickFlags({ ...options, force }, allowedFlags[command]);
}

/**
 * Throws INVALID_ARGUMENT for an unknown flag, for a flag that the command does not support, and for a
 * missing manifest.
 */
export function parseEnvArguments(command: EnvCommand, args: readonly string[]): EnvArguments {
  const invalid = invalidArguments(`${command} ${envUsage[command]}`);
  const { values, positionals } = parseCommandLine(args, options, invalid);
  const allowed: readonly string[] = allowedFlags[command];
  const unsupported = Object.keys(values).find((name) => !allowed.includes(name));
  if (unsupported !== undefined) throw invalid(`'${command}' takes no ${flagOf(unsupported)}`);
  const [named, extra] = positionals;
  const manifestPath = named ?? (commandsWithExample.includes(command) ? exampleManifestPath : undefined);
  if (manifestPath === undefined) throw invalid('A manifest is missing');
  if (extra !== undefined)
    throw invalid('Name one manifest; a value that contains a space must be in quotes');
  return {
    ...readEnvInputs(manifestPath, values),
    isExample: named === undefined,
    recreate: values.recreate === true,
    recreatePersistentDisks: values['recreate-persistent-disks'] === true,
    skipDrain: values['skip-drain'] === true,
    force: values.force === true,
    all: values.all === true,
    nonInteractive: values['non-interactive'] === true,
    ...(values.path === undefined ? {} : { valuePath: values.path }),
    varErrs: values['var-errs'] === true,
    varErrsUnused: values['var-errs-unused'] === true,
  };
}

export type EnvInputs = Omit<
  EnvArguments,
  | 'isExample'
  | 'recreate'
  | 'recreatePersistentDisks'
  | 'skipDrain'
  | 'force'
  | 'all'
  | 'nonInteractive'
  | 'valuePath'
  | 'varErrs'
  | 'varErrsUnused'
>;

/** Returns a manifest's path and its variables and ops files, from the values of `inputOptions`. */
export function readEnvInputs(
  manifestPath: string,
  values: { readonly tunnel?: boolean } & Partial<Record<'state' | 'vars-store', string>> &
    Partial<Record<'var' | 'var-file' | 'vars-file' | 'vars-env' | 'ops-file', string[]>>,
): EnvInputs {
  return {
    manifestPath: expandHome(manifestPath),
    ...(values.state === undefined ? {} : { statePath: expandHome(values.state) }),
    ...(values['vars-store'] === undefined ? {} : { varsStorePath: expandHome(values['vars-store']) }),
    variables: Object.fromEntries(
      pairs('-v', values.var ?? []).map(([name, text]) => [name, parseVariable(name, text)]),
    ),
    variableFiles: Object.fromEntries(
      pairs('--var-file', values['var-file'] ?? []).map(([name, path]) => [name, expandHome(path)]),
    ),
    varsFiles: (values['vars-file'] ?? []).map(expandHome),
    opsFiles: (values['ops-file'] ?? []).map(expandHome),
    varsEnvs: (values['vars-env'] ?? []).map(nonEmptyPrefix),
    tunnel: values.tunnel === true,
  };
}

function flagOf(name: string): string {
  const option = (options as Readonly<Record<string, { readonly short?: string }>>)[name];
  return [...(option?.short === undefined ? [] : [`-${option.short}`]), `--${name}`].join(', ');
}

/**
 * Rejects an empty prefix, because it would match every environment variable that begins with an underscore.
 */
function nonEmptyPrefix(prefix: string): string {
  if (prefix !== '') return prefix;
  throw new ProductError('INVALID_ARGUMENT', '--vars-env needs the PREFIX of PREFIX_name=value');
}

function pairs(flag: string, texts: readonly string[]): [string, string][] {
  return texts.map((text) => {
    const split = text.indexOf('=');
    if (split > 0) return [text.slice(0, split), text.slice(split + 1)];
    throw new ProductError('INVALID_ARGUMENT', `${flag} needs NAME=VALUE`);
  });
}

/** Returns the file where `up` keeps a manifest's generated secrets if --vars-store is not given. */
export function defaultVarsStorePath(manifestPath: string): string {
  return manifestPath.replace(/(\.ya?ml)?$/, '-creds.yml');
}
