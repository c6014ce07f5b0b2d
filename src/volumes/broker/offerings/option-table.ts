import {
  describeOptionErrors,
  type OptionErrors,
  type OptionType,
  type OptionValue,
  printableName,
} from '../../options/option-types.ts';
import { isSecretPath } from '../../signature/secret-reference.ts';

/**
 * The scope in which a user may give an option: `cf create-service` and `cf update-service`, or `cf
 * bind-service`.
 */
export type OptionScope = 'provision' | 'bind';

/** One option of an offering. */
export interface OptionDefinition {
  readonly name: string;
  readonly type: OptionType;
  readonly scopes: readonly OptionScope[];
  /** The key in `mount_config`, which the drivers know. */
  readonly mountConfigKey: string;
  /** Text before the value in `mount_config`. */
  readonly prefix?: string;
  /** Text after the value in `mount_config`. */
  readonly suffix?: string;
  /**
   * If true, the value is a path below the space of its user, so that a user cannot name a secret of another
   * space.
   */
  readonly isSpaceScoped?: boolean;
  /** An alternative name that users may write. */
  readonly alias?: string;
  /** If true, the value never appears in the response to a fetch, in a log or in an error. */
  readonly isSecret?: boolean;
  /** Required by each mount: rejected if it is still missing in this scope. */
  readonly requiredAt?: OptionScope;
  /** Options that cannot be used together with it. */
  readonly excludes?: readonly string[];
  /** An option that it requires. */
  readonly requires?: string;
  readonly description: string;
}

export type OptionTable = readonly OptionDefinition[];

/** Returns the options that map to the same mount_config key. One of them replaces another. */
const equivalentNames = (table: OptionTable, mountOption: string): readonly string[] =>
  table.filter((row) => row.mountConfigKey === mountOption).map(({ name }) => name);

/** Returns the option with a name or alias. */
export const find = (table: OptionTable, name: string): OptionDefinition | undefined =>
  table.find((row) => row.name === name || row.alias === name);

/** Options by their names in the table. */
export type Options = Readonly<Record<string, OptionValue>>;

/** The operator's settings of the options of an offering. */
export interface OperatorOptions {
  /** Values that are used if a user gives none. */
  readonly defaults: Options;
  /** Values that are always used. A user who gives one of these options gets an error. */
  readonly forced: Options;
}

export type ParsedOptions = { readonly options: Options } | { readonly description: string };

/** Parses the parameters that a user gave in a scope. One description lists all errors. */
export function parseOptions(
  table: OptionTable,
  parameters: Readonly<Record<string, unknown>>,
  scope: OptionScope,
  forced: Options,
): ParsedOptions {
  const problems: OptionErrors = { invalid: [], notAllowed: [], missing: [] };
  const options: Record<string, OptionValue> = {};
  for (const [name, value] of Object.entries(parameters)) {
    const row = find(table, name);
    const names = row === undefined ? [] : equivalentNames(table, row.mountConfigKey);
    const isForced = names.some((other) => Object.hasOwn(forced, other));
    if (row === undefined || !row.scopes.includes(scope) || isForced) {
      problems.notAllowed.push(printableName(name));
      continue;
    }
    const given = names.find((other) => Object.hasOwn(options, other));
    if (given !== undefined) {
      const other = given === row.name ? (row.alias ?? row.name) : given;
      problems.invalid.push(`${row.name} is given twice, also as ${other}`);
      continue;
    }
    const parsed = row.type.parse(value);
    if ('problem' in parsed) problems.invalid.push(`${name} ${parsed.problem}`);
    else options[row.name] = parsed.value;
  }
  if (scope === 'provision')
    problems.missing.push(...missingOptions(table, options, 'provision', parameters));
  return toResult(options, problems);
}

/**
 * Returns the options of a mount: the operator's defaults, then the instance's options, the binding's, and
 * the forced ones; later ones win. Rejects contradictory options and missing required ones.
 */
export function mergeOptions(
  table: OptionTable,
  { defaults, forced }: OperatorOptions,
  instance: Options,
  binding: Options,
): ParsedOptions {
  const options = [instance, binding, forced].reduce(
    (lower, upper) => mergeOver(table, lower, upper),
    defaults,
  );
  const problems: OptionErrors = { invalid: [], notAllowed: [], missing: [] };
  const isGiven = (name: string): boolean => options[name] !== undefined && options[name] !== false;
  const isMet = (name: string): boolean => equivalentOptions(table, name).some(isGiven);
  for (const row of table.filter(({ name }) => isGiven(name))) {
    for (const other of (row.excludes ?? []).filter(isGiven))
      problems.invalid.push(`${row.name} cannot be used together with ${other}`);
    if (row.requires !== undefined && !isMet(row.requires)) problems.missing.push(row.requires);
  }
  problems.missing.push(...missingOptions(table, options, 'bind', options));
  return toResult(options, problems);
}

/** Merges `upper` over `lower`. An option replaces every option that maps to the same mount_config key. */
export function mergeOver(table: OptionTable, lower: Options, upper: Options): Options {
  const replaced = new Set(Object.keys(upper).flatMap((name) => equivalentOptions(table, name)));
  return { ...Object.fromEntries(Object.entries(lower).filter(([name]) => !replaced.has(name))), ...upper };
}

/** Puts the GUID of the space before space-scoped options, unless they begin with it. */
export function withSpacePrefix(table: OptionTable, options: Options, spaceGuid: string): ParsedOptions {
  const names = table.filter(({ isSpaceScoped }) => isSpaceScoped === true).map(({ name }) => name);
  const given = names.filter((name) => options[name] !== undefined);
  if (given.length === 0) return { options };
  if (!isSecretPath(spaceGuid) || spaceGuid.includes('/'))
    return {
      description: `${given.join(', ')} cannot be used: the GUID of the space is not a valid part of a path`,
    };
  const below = given.map((name) => {
    const path = String(options[name]);
    return [name, path.startsWith(`${spaceGuid}/`) ? path : `${spaceGuid}/${path}`] as const;
  });
  return { options: { ...options, ...Object.fromEntries(below) } };
}

/** Returns the names of the option and of those that map to the same mount_config key. */
function equivalentOptions(table: OptionTable, name: string): readonly string[] {
  const row = find(table, name);
  return row === undefined ? [name] : equivalentNames(table, row.mountConfigKey);
}

/**
 * Returns options as a `mount_config`: the drivers' keys, all values as strings, and flags only if they are
 * set.
 */
export function toMountConfig(table: OptionTable, options: Options): Record<string, string> {
  const mountOptions: Record<string, string> = {};
  for (const { name, mountConfigKey, prefix = '', suffix = '' } of table) {
    const value = options[name];
    if (value !== undefined && value !== false)
      mountOptions[mountConfigKey] = `${prefix}${String(value)}${suffix}`;
  }
  return mountOptions;
}

/** Returns options without the secret ones. */
export function withoutSecrets(table: OptionTable, options: Options): Options {
  const secret = table.filter(({ isSecret }) => isSecret === true).map(({ name }) => name);
  return Object.fromEntries(Object.entries(options).filter(([name]) => !secret.includes(name)));
}

function missingOptions(
  table: OptionTable,
  options: Options,
  scope: OptionScope,
  given: Readonly<Record<string, unknown>>,
): string[] {
  return table
    .filter(({ requiredAt }) => requiredAt === scope)
    .filter(({ name, alias = name }) => !Object.hasOwn(given, name) && !Object.hasOwn(given, alias))
    .map(({ name }) => name)
    .filter((name) => equivalentOptions(table, name).every((other) => options[other] === undefined));
}

/** Returns the options, or the description of their errors. */
function toResult(options: Options, errors: OptionErrors): ParsedOptions {
  const description = describeOptionErrors({ ...errors, missing: errors.missing.toSorted() });
  return description === '' ? { options } : { description };
}
