import { isProductError, ProductError } from '../../errors/product-error.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { toValue } from '../yaml/yaml-node.ts';
import type { JsonValue, YamlNode } from '../yaml/yaml-node.ts';

/**
 * Parses the value of `-v name=text` as the bosh CLI does (bosh-cli: director/template/var_kv.go): YAML 1.1
 * decides the type, and a string stays unchanged, except that one pair of enclosing quotes is removed. Throws
 * INVALID_ARGUMENT for an empty value and for invalid YAML.
 */
export function parseVariable(name: string, text: string): JsonValue {
  if (text === '')
    throw new ProductError(
      'INVALID_ARGUMENT',
      `-v ${name}= has no value; for an empty text use -v "${name}=''"`,
    );
  const node = parseValue(name, text);
  if (isBlank(node)) return text;
  const value = toValue(node);
  return typeof value === 'string' ? withoutWrappingQuotes(text) : value;
}

function parseValue(name: string, text: string): YamlNode {
  try {
    return parseYaml(text, `-v ${name}=…`, 'INVALID_ARGUMENT');
  } catch (error) {
    if (!isProductError(error)) throw error;
    const remedy = `--var-file ${name}=FILE reads any text unchanged`;
    throw new ProductError('INVALID_ARGUMENT', `${error.message}; ${remedy}`, { cause: error });
  }
}

/**
 * Returns true for a comment, a document marker or blanks. The bosh CLI parses these as null, so it would
 * deploy a password that begins with `#` as empty.
 */
export function isBlank(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.value === null && node.text === '';
}

function withoutWrappingQuotes(text: string): string {
  const quote = text[0];
  return (quote === '"' || quote === "'") && text.endsWith(quote) ? text.slice(1, -1) : text;
}
