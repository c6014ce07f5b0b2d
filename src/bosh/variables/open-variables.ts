import { randomInt } from 'node:crypto';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { secretsInFlags, variableSecrets } from '../../errors/redact/secret-strings.ts';
import { parseYaml, readGivenYaml } from '../yaml/parse-yaml.ts';
import {
  toValue,
  type YamlNode,
  describeKind,
  describePosition,
  fromValue,
  keyText,
  scalar,
} from '../yaml/yaml-node.ts';
import { createValueGenerator, expectedBits } from './generate-value.ts';
import { RsaPairs } from './rsa-pairs.ts';
import type { VariableDefinition, VariableSource } from './variable.ts';
import { VarsStore } from './vars-store.ts';
import { archiveLimits } from '../archive/archive-limits.ts';
import { readOperatorFile } from '../archive/open-for-reading.ts';
import { isBlank } from './parse-variable.ts';

export interface VariableOptions extends GivenVariables {
  /** `--vars-store path`: generated values are written to this file. Existing values never change. */
  readonly varsStorePath?: string | undefined;
  /** Generated values are not written to the vars store. */
  readonly keepsVarsStore?: boolean | undefined;
  /** The start of the validity of generated certificates; the system's clock by default. */
  readonly now?: (() => Date) | undefined;
  /**
   * Called with each value of a variable and each password and key in the manifest, before an error can
   * contain it.
   */
  readonly onSecrets?: ((secrets: readonly string[]) => void) | undefined;
}

export interface OpenVariables {
  readonly source: VariableSource;
  /** Returns the names of all variables that are provided or stored. */
  names(): Promise<readonly string[]>;
}

/** Combines the operator's variables and the vars store into one source. */
export async function openVariables(options: VariableOptions): Promise<OpenVariables> {
  const given = await loadStaticVariables(options);
  const pairs = new RsaPairs();
  const generate = createValueGenerator({
    pairs,
    now: options.now ?? (() => new Date()),
    randomBelow: (limit) => randomInt(limit),
  });
  const { varsStorePath: path, keepsVarsStore: isReadOnly = false } = options;
  const expect = (definitions: readonly VariableDefinition[]): void =>
    pairs.prepare(expectedBits(definitions));
  const store =
    path === undefined
      ? undefined
      : new VarsStore({ path, isReadOnly, generate, operatorValues: given, prepare: expect });
  for (const [name, value] of given) options.onSecrets?.(secretsOfVariable(name, value));
  const source: VariableSource = {
    expect: async (definitions) => store?.expect(definitions),
    get: async (definition) => {
      const known = given.get(definition.name);
      if (known !== undefined || store === undefined) return known;
      const value = await store.get(definition);
      if (value !== undefined) options.onSecrets?.(secretsOfVariable(definition.name, value));
      return value;
    },
  };
  return { source, names: async () => [...given.keys(), ...((await store?.names()) ?? [])] };
}

/**
 * Returns the secrets of a variable. If the value is a whole YAML file, for example a kubeconfig, includes
 * the secrets in it.
 */
function secretsOfVariable(name: string, node: YamlNode): string[] {
  const value = toValue(node);
  const inText = typeof value === 'string' && value.includes('\n') ? secretsInFlags(yamlIn(value)) : [];
  return [...variableSecrets({ [name]: value }), ...inText];
}

/** Returns undefined if the text is not YAML. */
function yamlIn(text: string): unknown {
  try {
    return toValue(parseYaml(text, '', 'MANIFEST_INVALID'));
  } catch (error) {
    if (isProductError(error)) return undefined;
    throw error;
  }
}

export interface GivenVariables {
  /** `-v name=value`, already parsed as YAML. They override every file. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  /** `--var-file name=path`: the value is the text of the whole file. */
  readonly variableFiles?: Readonly<Record<string, string>> | undefined;
  /** `-l path`: YAML files of variables. A later file overrides an earlier one. */
  readonly varsFiles?: readonly string[] | undefined;
  /** `--vars-env PREFIX`: PREFIX_name in `environment` sets the variable `name`. */
  readonly varsEnvs?: readonly string[] | undefined;
  readonly environment?: Readonly<Record<string, string | undefined>> | undefined;
}

type Given = readonly (readonly [name: string, value: YamlNode])[];

/**
 * Loads the operator's variables: `--vars-env`, `-l` files in order, `--var-file`, `-v`. A later one
 * overrides an earlier one (bosh-cli: cmd/opts/var_flags.go). A name with dots sets a part of a variable
 * (director/template/static_vars.go) and keeps the other parts. Throws MANIFEST_INVALID for a part of a value
 * that is not a map.
 */
export async function loadStaticVariables(given: GivenVariables): Promise<ReadonlyMap<string, YamlNode>> {
  const values = new Map<string, YamlNode>();
  for (const prefix of given.varsEnvs ?? []) addAll(values, fromEnvironment(prefix, given.environment ?? {}));
  for (const path of given.varsFiles ?? []) addAll(values, await readVarsFile(path));
  const files: [string, YamlNode][] = [];
  for (const [name, path] of Object.entries(given.variableFiles ?? {}))
    files.push([name, scalar(await readText(path), { file: path, line: 1, column: 1 })]);
  addAll(values, files);
  const variables = Object.entries(given.variables ?? {});
  addAll(
    values,
    variables.map(([name, value]) => [
      name,
      fromValue(value, { file: `variable '${name}'`, line: 1, column: 1 }),
    ]),
  );
  return values;
}

/** Sets whole variables before dotted parts, independent of their order. */
function addAll(values: Map<string, YamlNode>, given: Given): void {
  const split = given.map(([name, value]) => ({ parts: name.split('.'), value }));
  for (const { parts, value } of split.toSorted((one, other) => one.parts.length - other.parts.length)) {
    const [variable = ''] = parts;
    values.set(variable, setPath(values.get(variable), parts, 1, value));
  }
}

/** Returns `node`, which is at the first `depth` parts of the path, with `value` set at the whole path. */
function setPath(
  node: YamlNode | undefined,
  parts: readonly string[],
  depth: number,
  value: YamlNode,
): YamlNode {
  const part = parts[depth];
  if (part === undefined) return value;
  if (node !== undefined && node.kind !== 'map') {
    const [name, whole] = [parts.join('.'), parts.slice(0, depth).join('.')];
    const message = `${describePosition(value.position)}: variable '${name}' is a part of '${whole}', which is ${describeKind(node)}`;
    throw new ProductError('MANIFEST_INVALID', message);
  }
  const entries = node?.entries ?? [];
  const found = entries.find(({ key }) => keyText(key) === part);
  const entry = {
    key: found?.key ?? scalar(part, value.position),
    value: setPath(found?.value, parts, depth + 1, value),
  };
  const position = node?.position ?? value.position;
  return { kind: 'map', entries: [...entries.filter((one) => one !== found), entry], position };
}

/**
 * Parses variables from the environment. YAML decides the type of each value, as in the bosh CLI
 * (director/template/vars_env_arg.go). A comment is a string, as with -v.
 */
function fromEnvironment(prefix: string, environment: Readonly<Record<string, string | undefined>>): Given {
  const start = `${prefix}_`;
  return Object.entries(environment).flatMap(([name, text = '']) => {
    if (!name.startsWith(start)) return [];
    const file = `environment variable '${name}'`;
    const node = parseYaml(text, file, 'INVALID_ARGUMENT');
    const value = text !== '' && isBlank(node) ? scalar(text, { file, line: 1, column: 1 }) : node;
    return [[name.slice(start.length), value] as const];
  });
}

async function readVarsFile(path: string): Promise<Given> {
  const node = await readGivenYaml(path);
  if (node.kind === 'scalar' && node.value === null) return [];
  if (node.kind !== 'map') {
    throw new ProductError(
      'MANIFEST_INVALID',
      `${describePosition(node.position)}: expected a map of variables, found ${describeKind(node)}`,
    );
  }
  return node.entries.map(({ key, value }) => [key.text, value] as const);
}

async function readText(path: string): Promise<string> {
  const bytes = await readOperatorFile(path, archiveLimits.manifest);
  if (bytes !== undefined) return bytes.toString('utf8');
  throw new ProductError(
    'INVALID_ARGUMENT',
    `The file '${path}' of --var-file has more than ${archiveLimits.manifest} bytes, the limit for a value of a manifest`,
  );
}
