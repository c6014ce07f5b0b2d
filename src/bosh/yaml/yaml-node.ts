/** A position in a file. Line and column count from 1. */
export interface Place {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** A whole number that a `number` cannot represent exactly is a bigint. `toJson` writes all its digits. */
export type ScalarValue = string | number | bigint | boolean | null;

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly value: ScalarValue;
  /** The text as written: `1.10` for the value 1.1. */
  readonly text: string;
  readonly place: Place;
}

export interface MapEntry {
  readonly key: ScalarNode;
  readonly value: YamlNode;
}

export interface MapNode {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
  readonly place: Place;
}

export interface ListNode {
  readonly kind: 'list';
  readonly items: readonly YamlNode[];
  readonly place: Place;
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

/** Returns a node for a plain value without a source of its own; `place` is the position where it is used. */
export function fromValue(value: unknown, place: Place): YamlNode {
  if (Array.isArray(value))
    return { kind: 'list', items: value.map((item) => fromValue(item, place)), place };
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => ({
      key: scalar(key, place),
      value: fromValue(item, place),
    }));
    return { kind: 'map', entries, place };
  }
  if (value === undefined || value === null) return scalar(null, place);
  if (isScalarValue(value)) return scalar(value, place);
  throw new TypeError(`a ${typeof value} is not a YAML value`);
}

function isScalarValue(value: unknown): value is ScalarValue {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value);
}

export function scalar(value: ScalarValue, place: Place): ScalarNode {
  return { kind: 'scalar', value, text: value === null ? '' : String(value), place };
}

/** Returns the value of a key in a map. Returns undefined if the key is missing or the node is not a map. */
export function lookUp(node: YamlNode | undefined, key: string): YamlNode | undefined {
  if (node?.kind !== 'map') return undefined;
  return node.entries.find((entry) => entry.key.value === key)?.value;
}

export function keyText(key: ScalarNode): string {
  return typeof key.value === 'string' ? key.value : key.text;
}

export function describePlace({ file, line, column }: Place): string {
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
