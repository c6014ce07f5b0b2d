/** A position in a file. Line and column count from 1. */
export interface Position {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** The variable from which a value comes. */
export interface ValueSource {
  readonly variable: string;
  /** The file with the variable's value, or for example `variable 'x'`, as in a position. */
  readonly file: string;
}

/** A whole number that a `number` cannot represent exactly is a bigint. `toJson` writes all its digits. */
export type ScalarValue = string | number | bigint | boolean | null;

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly value: ScalarValue;
  /** The text as written: `1.10` for the value 1.1. */
  readonly text: string;
  readonly position: Position;
  /** Absent if the value is in the manifest. */
  readonly source?: ValueSource;
}

export interface MapEntry {
  readonly key: ScalarNode;
  readonly value: YamlNode;
}

export interface MapNode {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
  readonly position: Position;
}

export interface ListNode {
  readonly kind: 'list';
  readonly items: readonly YamlNode[];
  readonly position: Position;
}

/**
 * A YAML value with its position. Patched and interpolated manifests consist of nodes from several files.
 * Nodes are never changed in place.
 */
export type YamlNode = ScalarNode | MapNode | ListNode;

export type JsonValue = ScalarValue | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** Returns the plain value. Keys that are not strings become their text. */
export function toValue(node: YamlNode): JsonValue {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'list':
      return node.items.map(toValue);
    case 'map':
      return Object.fromEntries(node.entries.map(({ key, value }) => [keyText(key), toValue(value)]));
  }
}

/** Returns a node for a plain value that comes from no file; `position` is the place that uses the value. */
export function fromValue(value: unknown, position: Position): YamlNode {
  if (Array.isArray(value))
    return { kind: 'list', items: value.map((item) => fromValue(item, position)), position };
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => ({
      key: scalar(key, position),
      value: fromValue(item, position),
    }));
    return { kind: 'map', entries, position };
  }
  if (value === undefined || value === null) return scalar(null, position);
  if (isScalarValue(value)) return scalar(value, position);
  throw new TypeError(`a ${typeof value} is not a YAML value`);
}

function isScalarValue(value: unknown): value is ScalarValue {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

export function scalar(value: ScalarValue, position: Position): ScalarNode {
  return { kind: 'scalar', value, text: value === null ? '' : String(value), position };
}

/** Returns the value of a key in a map. Returns undefined if the key is missing or the node is not a map. */
export function lookUp(node: YamlNode | undefined, key: string): YamlNode | undefined {
  if (node?.kind !== 'map') return undefined;
  return node.entries.find((entry) => entry.key.value === key)?.value;
}

export function keyText(key: ScalarNode): string {
  return typeof key.value === 'string' ? key.value : key.text;
}

export function describePosition({ file, line, column }: Position): string {
  return `${file}:${line}:${column}`;
}

/**
 * Returns `a map`, `a list`, `text`, `nothing`, `a number` or `true or false`, for messages like "expected a
 * map, found …". Never returns the value.
 */
export function describeKind(node: YamlNode): string {
  if (node.kind !== 'scalar') return `a ${node.kind}`;
  if (node.value === null) return 'nothing';
  if (typeof node.value === 'string') return 'text';
  return typeof node.value === 'boolean' ? 'true or false' : 'a number';
}
