import type { YamlNode } from '../yaml/yaml-node.ts';
import { YamlField, ConfigErrors } from '../yaml/yaml-field.ts';

/** An entry of the manifest's `variables`. Without a type its value is only looked up, not generated. */
export interface VariableDefinition {
  readonly name: string;
  readonly type?: string;
  readonly options?: YamlNode;
}

/** A source of values. `get` returns undefined if the source neither has nor generates the value. */
export interface VariableSource {
  /** Announces the definitions that `get` will be called with, so that values can be generated in advance. */
  expect(definitions: readonly VariableDefinition[]): Promise<void>;
  get(definition: VariableDefinition): Promise<YamlNode | undefined>;
}

/**
 * Reads the options of a definition. An unknown option is an error. Throws MANIFEST_INVALID with the problems
 * that `read` adds.
 */
export function readOptions<T>(
  definition: VariableDefinition,
  known: readonly string[],
  read: (options: YamlField) => T,
): T {
  const problems = new ConfigErrors();
  const node: YamlNode | undefined = definition.options;
  const parent = node?.position ?? { file: `variable '${definition.name}'`, line: 1, column: 1 };
  const field = new YamlField(node, { path: `variables: '${definition.name}' options`, parent, problems });
  for (const [key, option] of field.entries()) {
    if (!known.includes(key))
      option.problem(`is not an option of type '${definition.type}'; the options are ${known.join(', ')}`);
  }
  const value = read(field);
  problems.throwIfAny('MANIFEST_INVALID');
  return value;
}
