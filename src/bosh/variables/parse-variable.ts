import { parseYaml } from '../yaml/parse-yaml.ts';
import { toValue } from '../yaml/yaml-node.ts';
import type { JsonValue } from '../yaml/yaml-node.ts';

/** The value of `-v name=text`, read as the bosh CLI reads it (YAML 1.1). INVALID_ARGUMENT when it is no YAML. */
export function parseVariable(name: string, text: string): JsonValue {
  return toValue(parseYaml(text, `-v ${name}=…`, 'INVALID_ARGUMENT'));
}
