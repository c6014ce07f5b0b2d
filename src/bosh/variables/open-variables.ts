import { randomInt } from 'node:crypto';
import { isProductError } from '../../errors/product-error.ts';
import { secretsInFlags, variableSecrets } from '../../errors/redact/secret-strings.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { toValue } from '../yaml/yaml-node.ts';
import type { YamlNode } from '../yaml/yaml-node.ts';
import { createValueGenerator, expectedBits } from './generate-value.ts';
import { RsaPairs } from './rsa-pairs.ts';
import { loadStaticVariables, type GivenVariables } from './static-variables.ts';
import type { VariableDefinition, VariableSource } from './variable.ts';
import { VarsStore } from './vars-store.ts';

export interface VariableOptions extends GivenVariables {
  /** `--vars-store path`: generated values are written to this file. Existing values never change. */
  readonly varsStorePath?: string | undefined;
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
  const { varsStorePath: path } = options;
  const expect = (definitions: readonly VariableDefinition[]): void =>
    pairs.prepare(expectedBits(definitions));
  const store =
    path === undefined
      ? undefined
      : new VarsStore({ path, generate, operatorValues: given, prepare: expect });
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
