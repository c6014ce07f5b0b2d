import { toGoYaml } from '../bosh/yaml/go-yaml.ts';
import { fromValue } from '../bosh/yaml/yaml-node.ts';

/** The values of a vars file. One that is undefined is left out. */
export type VariableValues = Readonly<Record<string, string | null | undefined>>;

/** Returns the lines of a vars file for the bosh CLI, for which a plain `no` or `on` is not a text but a boolean. */
export function formatVariables(values: VariableValues): string {
  const present = Object.entries(values).filter(([, value]) => value !== undefined);
  return toGoYaml(fromValue(Object.fromEntries(present), { file: 'vars.yml', line: 1, column: 1 }));
}
