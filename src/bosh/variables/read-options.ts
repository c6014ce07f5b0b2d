import { Field, ConfigErrors } from '../yaml/field.ts';
import type { YamlNode } from '../yaml/yaml-node.ts';
import type { VariableDefinition } from './variable.ts';

/**
 * Reads the options of a definition. An unknown option is an error. Throws MANIFEST_INVALID with the problems
 * that `read` adds.
 */
export function readOptions<T>(
  definition: VariableDefinition,
  known: readonly string[],
  read: (options: Field) => T,
): T {
  const problems = new ConfigErrors();
  const node: YamlNode | undefined = definition.options;
  const parent = node?.place ?? { file: `variable '${definition.name}'`, line: 1, column: 1 };
  const field = new Field(node, { path: `variables: '${definition.name}' options`, parent, problems });
  for (const [key, option] of field.entries()) {
    if (!known.includes(key))
      option.problem(`is not an option of type '${definition.type}'; known are ${known.join(', ')}`);
  }
  const value = read(field);
  problems.throwIfAny('MANIFEST_INVALID');
  return value;
}
