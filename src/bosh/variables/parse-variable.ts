import { isProductError, ProductError } from '../../errors/product-error.ts';
import { parseYaml } from '../yaml/parse-yaml.ts';
import { toValue } from '../yaml/yaml-node.ts';
import type { JsonValue, YamlNode } from '../yaml/yaml-node.ts';

/**
 * The value of `-v name=text`, read as the bosh CLI reads it (bosh-cli: director/template/var_kv.go): YAML 1.1 decides what kind
 * of value it is, and a text stays as typed, less one pair of wrapping quotes. INVALID_ARGUMENT for no value and for one that is
 * no YAML.
 */
export function parseVariable(name: string, text: string): JsonValue {
  if (text === '')
    throw new ProductError(
      'INVALID_ARGUMENT',
      `-v ${name}= has no value; for an empty text write -v "${name}=''"`,
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
    const remedy = `--var-file ${name}=FILE takes any text as it is`;
    throw new ProductError('INVALID_ARGUMENT', `${error.message}; ${remedy}`, { cause: error });
  }
}

/** A comment, a mark or blanks: the bosh CLI makes nothing of them, and would deploy a password that begins with `#` empty. */
export function isBlank(node: YamlNode): boolean {
  return node.kind === 'scalar' && node.value === null && node.text === '';
}

function withoutWrappingQuotes(text: string): string {
  const quote = text[0];
  return (quote === '"' || quote === "'") && text.endsWith(quote) ? text.slice(1, -1) : text;
}
