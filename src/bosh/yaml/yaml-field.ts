import { ProductError } from '../../errors/product-error.ts';
import type { ErrorCode } from '../../errors/error-table.ts';
import { nearest } from '../../platform/nearest.ts';
import { parsePathSegment, segmentProblem, type PathSegment } from '../../platform/path-segment.ts';
import { describeKind, describePosition, keyText, lookUp, toValue } from './yaml-node.ts';
import type { JsonValue, MapNode, Position, YamlNode } from './yaml-node.ts';

/** A key that a map does not have. */
interface MissingKey {
  readonly map: MapNode;
  readonly key: string;
}

interface Problem {
  readonly position: Position;
  readonly text: string;
  readonly missing: MissingKey | undefined;
}

/** Collects the errors of a file, so that the operator sees all of them at once. */
export class ConfigErrors {
  readonly #found: Problem[] = [];
  /** The paths of the values that have another type than expected. */
  readonly #mistyped: string[] = [];
  /** The keys of each map that a reader knows. */
  readonly #known = new Map<MapNode, Set<string>>();

  /**
   * Adds an error. `path` is the key path; empty for the whole file. An error at or below a value of the
   * wrong type is dropped, because it follows from the type.
   */
  add(position: Position, path: string, message: string, missing?: MissingKey): void {
    if (this.#mistyped.some((outer) => isAtOrBelow(path, outer))) return;
    const text = `${describePosition(position)}: ${path === '' ? '' : `${path}: `}${message}`;
    if (!this.#found.some((problem) => problem.text === text)) this.#found.push({ position, text, missing });
  }

  addMistyped(position: Position, path: string, message: string): void {
    this.add(position, path, message);
    this.#mistyped.push(path);
  }

  /** Records that a reader knows this key of the map. */
  addKnown(map: MapNode, key: string): void {
    const known = this.#known.get(map) ?? new Set();
    this.#known.set(map, known.add(key));
  }

  get count(): number {
    return this.#found.length;
  }

  /** Throws an error of this code with one line per problem, in the order of the file. */
  throwIfAny(code: ErrorCode): void {
    if (this.#found.length === 0) return;
    const sorted = this.#found.toSorted((a, b) => comparePositions(a.position, b.position));
    throw new ProductError(code, sorted.map((problem) => this.#describe(problem)).join('\n'));
  }

  /** Names a key that is probably the missing one, misspelt. */
  #describe({ text, missing }: Problem): string {
    if (missing === undefined) return text;
    const known = this.#known.get(missing.map);
    const others = missing.map.entries.map(({ key }) => keyText(key)).filter((key) => !known?.has(key));
    const misspelt = others.find((key) => nearest(key, [missing.key]) !== undefined);
    return misspelt === undefined ? text : `${text}; the similar key '${misspelt}' is not known`;
  }
}

function isAtOrBelow(path: string, outer: string): boolean {
  return outer === '' || path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}

function comparePositions(a: Position, b: Position): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}

/**
 * A position in a YAML file that an operator writes, with or without a value. Reading a value of the wrong
 * type adds a problem with file, line and column and returns a placeholder, so that reading continues to the
 * next problem. `Field` of src/platform reads values that have no position, and throws the first problem.
 */
export class YamlField {
  readonly path: string;
  readonly node: YamlNode | undefined;
  readonly #parent: Position;
  readonly #problems: ConfigErrors;
  /** The value whose key this is. */
  readonly #owner: { readonly field: YamlField; readonly key: string } | undefined;

  constructor(
    node: YamlNode | undefined,
    options: {
      path: string;
      parent: Position;
      problems: ConfigErrors;
      owner?: { readonly field: YamlField; readonly key: string };
    },
  ) {
    this.node = node;
    this.path = options.path;
    this.#parent = options.parent;
    this.#problems = options.problems;
    this.#owner = options.owner;
  }

  /** False if the value is missing or an explicit null, as in BOSH's tools. */
  get isPresent(): boolean {
    return this.node !== undefined && !(this.node.kind === 'scalar' && this.node.value === null);
  }

  get nodePosition(): Position {
    return this.node?.position ?? this.#parent;
  }

  /** File, line, column and key path, which are the beginning of a problem's text. */
  get position(): string {
    return `${describePosition(this.nodePosition)}: ${this.path}`;
  }

  /**
   * Adds a problem. If a key is missing because the outer value is not a map, the problem is the outer value.
   */
  problem(message: string): void {
    const { field, key } = this.#owner ?? {};
    if (this.isPresent || field === undefined || key === undefined || !field.isPresent)
      return this.#problems.add(this.nodePosition, this.path, message);
    if (field.node?.kind !== 'map') return field.#mismatch('a map', undefined);
    this.#problems.add(this.nodePosition, this.path, message, { map: field.node, key });
  }

  get(key: string): YamlField {
    const path = this.path === '' ? key : `${this.path}.${key}`;
    if (this.node?.kind === 'map') this.#problems.addKnown(this.node, key);
    return new YamlField(lookUp(this.node, key), {
      path,
      owner: { field: this, key },
      parent: this.nodePosition,
      problems: this.#problems,
    });
  }

  /** Returns the items of a list; none if it is missing. */
  items(): readonly YamlField[] {
    if (!this.isPresent) return [];
    if (this.node?.kind !== 'list') return this.#mismatch('a list', []);
    return this.node.items.map(
      (item, index) =>
        new YamlField(item, {
          path: `${this.path}[${index}]`,
          parent: this.nodePosition,
          problems: this.#problems,
        }),
    );
  }

  /** Returns the entries of a map, with keys as text; none if it is missing. */
  entries(): readonly (readonly [string, YamlField])[] {
    if (!this.isPresent) return [];
    if (this.node?.kind !== 'map') return this.#mismatch('a map', []);
    return this.node.entries.map(({ key, value }) => {
      const path = this.path === '' ? keyText(key) : `${this.path}.${keyText(key)}`;
      return [
        keyText(key),
        new YamlField(value, { path, parent: this.nodePosition, problems: this.#problems }),
      ] as const;
    });
  }

  /** Returns a string, or a number or boolean as it is written. */
  text(): string | undefined {
    if (!this.isPresent) return undefined;
    if (this.node?.kind !== 'scalar') return this.#mismatch('text', undefined);
    return typeof this.node.value === 'string' ? this.node.value : this.node.text;
  }

  /** Returns a string that is not blank. Adds a problem otherwise. */
  requiredText(): string {
    const text = this.text();
    if (text !== undefined && text.trim() !== '') return text;
    if (text !== undefined || !this.isPresent) this.problem('must be provided');
    return '';
  }

  /**
   * Returns a required string that becomes part of a path. Adds a problem if it could lead out of its
   * directory.
   */
  requiredSegment(): PathSegment {
    const text = this.requiredText();
    const segment = parsePathSegment(text);
    if (segment !== undefined) return segment;
    if (text !== '') this.problem(segmentProblem(text));
    return placeholderSegment;
  }

  integer(): number | undefined {
    if (!this.isPresent) return undefined;
    if (this.node?.kind === 'scalar' && Number.isSafeInteger(this.node.value)) return Number(this.node.value);
    if (this.node?.kind === 'scalar' && typeof this.node.value === 'bigint')
      return this.#mismatch('a smaller number', undefined);
    return this.#mismatch('a whole number', undefined);
  }

  boolean(): boolean | undefined {
    if (!this.isPresent) return undefined;
    if (this.node?.kind === 'scalar' && typeof this.node.value === 'boolean') return this.node.value;
    return this.#mismatch('true or false', undefined);
  }

  texts(): readonly string[] {
    return this.items().map((item) => item.requiredText());
  }

  segments(): readonly PathSegment[] {
    return this.items().map((item) => item.requiredSegment());
  }

  /** Returns a map as plain values; empty if it is missing. Its keys must be strings at every depth. */
  properties(): Readonly<Record<string, JsonValue>> {
    if (!this.isPresent) return {};
    if (this.node?.kind !== 'map') return this.#mismatch('a map', {});
    this.#checkKeys(this.node);
    const value = toValue(this.node);
    return isRecord(value) ? value : {};
  }

  #checkKeys(node: YamlNode): void {
    if (node.kind === 'list') node.items.forEach((item) => this.#checkKeys(item));
    if (node.kind !== 'map') return;
    for (const { key, value } of node.entries) {
      if (typeof key.value !== 'string') {
        this.#problems.add(key.position, this.path, `the key '${key.text}' must be text; put it in quotes`);
      }
      this.#checkKeys(value);
    }
  }

  #mismatch<T>(expected: string, instead: T): T {
    if (this.node !== undefined)
      this.#problems.addMistyped(
        this.nodePosition,
        this.path,
        `expected ${expected}, found ${describeKind(this.node)}`,
      );
    return instead;
  }
}

/** Replaces an invalid name, so that reading continues to the next problem. */
const placeholderSegment = 'refused' as PathSegment;

/** Returns the whole file as a field. */
export function rootField(node: YamlNode, problems: ConfigErrors): YamlField {
  return new YamlField(node, { path: '', parent: node.position, problems });
}

function isRecord(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
