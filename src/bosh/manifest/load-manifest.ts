import { createHash, randomInt } from 'node:crypto';
import { isProductError, ProductError } from '../../errors/product-error.ts';
import { markedSecrets, variableSecrets } from '../../errors/redact/secret-strings.ts';
import { createValueGenerator, expectedBits } from '../variables/generate-value.ts';
import { RsaPairs } from '../variables/rsa-pairs.ts';
import { loadStaticVariables } from '../variables/static-variables.ts';
import type { VariableDefinition, VariableSource } from '../variables/variable.ts';
import { VarsStore } from '../variables/vars-store.ts';
import { Problems, rootField } from '../yaml/field.ts';
import { toGoYaml } from '../yaml/go-yaml.ts';
import { parseYaml, readGivenYaml } from '../yaml/parse-yaml.ts';
import { describeKind, describePlace, toValue } from '../yaml/yaml-node.ts';
import type { YamlNode } from '../yaml/yaml-node.ts';
import { interpolate } from './interpolate.ts';
import type { Manifest } from './manifest.ts';
import { applyOperations, readOpsFile } from './ops-file.ts';
import { readManifest } from './read-manifest.ts';
import { withoutCpiCredentials } from './without-cpi-credentials.ts';

export interface LoadManifestOptions {
  readonly path: string;
  /** `-v name=value`, values already parsed as YAML. They win over every file. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
  /** `--var-file name=path`: the whole file is the value, a text. */
  readonly variableFiles?: Readonly<Record<string, string>> | undefined;
  /** `-l path`: YAML files of variables; a later file wins. */
  readonly varsFiles?: readonly string[] | undefined;
  /** `--vars-store path`: generated values are written there; existing ones never change. */
  readonly varsStorePath?: string | undefined;
  /** `-o path`, applied in order before interpolation. */
  readonly opsFiles?: readonly string[] | undefined;
  /** When generated certificates begin to be valid; default the system's clock. */
  readonly now?: (() => Date) | undefined;
  /** Told of each value of a variable and each password and key in the manifest, before any of it can be in an error. */
  readonly onSecrets?: ((secrets: readonly string[]) => void) | undefined;
}

export interface LoadedManifest {
  readonly manifest: Manifest;
  /** The interpolated manifest, byte for byte as `bosh interpolate` prints it; holds secrets. */
  readonly text: string;
  /** Hex SHA-512 of `text`: `current_manifest_sha` of the state file. */
  readonly sha512: string;
  /** The same of the manifest without the CPI's credentials (see withoutCpiCredentials). */
  readonly sha512WithoutCredentials: string;
}

/**
 * Reads, patches, interpolates and checks a create-env manifest. What is wrong is MANIFEST_INVALID with a line per fault,
 * each with file, line, column and key path (an ops file: its operation and path). The vars store is the only thing
 * written, and it is written even when the manifest then turns out to be wrong, as in bosh: its values stay good.
 */
export async function loadManifest(options: LoadManifestOptions): Promise<LoadedManifest> {
  const problems = new Problems();
  const document = await patched(options);
  if (document.kind === 'list' || (document.kind === 'scalar' && document.value !== null)) {
    const message = `${describePlace(document.place)}: must be a map, found ${describeKind(document)}`;
    throw new ProductError('MANIFEST_INVALID', message);
  }
  const node = await interpolate(document, await variableSource(options), problems);
  options.onSecrets?.(markedSecrets(toValue(node)));
  const manifest = readManifest(rootField(node, problems), options.path);
  problems.throwIfAny('MANIFEST_INVALID');
  if (manifest === undefined)
    throw new ProductError('MANIFEST_INVALID', `${options.path}: the manifest is empty`);
  const text = toGoYaml(node);
  const sha512WithoutCredentials = sha512Of(toGoYaml(withoutCpiCredentials(node)));
  return { manifest, text, sha512: sha512Of(text), sha512WithoutCredentials };
}

const sha512Of = (text: string): string => createHash('sha512').update(text).digest('hex');

async function patched({ path, opsFiles = [] }: LoadManifestOptions): Promise<YamlNode> {
  const [document, ...operations] = await Promise.all([
    readGivenYaml(path),
    ...opsFiles.map((file) => readOpsFile(file)),
  ]);
  return applyOperations(document, operations.flat());
}

async function variableSource(options: LoadManifestOptions): Promise<VariableSource> {
  const given = await loadStaticVariables(options);
  const pairs = new RsaPairs();
  const generate = createValueGenerator({
    pairs,
    now: options.now ?? (() => new Date()),
    randomBelow: (limit) => randomInt(limit),
  });
  const { varsStorePath: path } = options;
  const expect = (definitions: readonly VariableDefinition[]): void =>
    pairs.expect(expectedBits(definitions));
  const store = path === undefined ? undefined : new VarsStore({ path, generate, given, expect });
  for (const [name, value] of given) options.onSecrets?.(secretsOfVariable(name, value));
  return {
    expect: async (definitions) => store?.expect(definitions),
    get: async (definition) => {
      const known = given.get(definition.name);
      if (known !== undefined || store === undefined) return known;
      const value = await store.get(definition);
      if (value !== undefined) options.onSecrets?.(secretsOfVariable(definition.name, value));
      return value;
    },
  };
}

/** Of a whole file, a kubeconfig for one, also what is in it. */
function secretsOfVariable(name: string, node: YamlNode): string[] {
  const value = toValue(node);
  const inText = typeof value === 'string' && value.includes('\n') ? markedSecrets(yamlIn(value)) : [];
  return [...variableSecrets({ [name]: value }), ...inText];
}

/** Undefined for text of another kind. */
function yamlIn(text: string): unknown {
  try {
    return toValue(parseYaml(text, '', 'MANIFEST_INVALID'));
  } catch (error) {
    if (isProductError(error)) return undefined;
    throw error;
  }
}
