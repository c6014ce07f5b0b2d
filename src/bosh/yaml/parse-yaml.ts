import {
  LineCounter,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  parseDocument,
  type Node,
  type Pair,
  type Scalar,
  type YAMLMap,
  type YAMLParseError,
} from 'yaml';
import { ProductError } from '../../errors/product-error.ts';
import type { ErrorCode } from '../../errors/error-table.ts';
import { archiveLimits } from '../archive/archive-limits.ts';
import { readOperatorFile, readRegularFile } from '../archive/open-for-reading.ts';
import {
  duplicateKeys,
  describeYamlError,
  exceedsYamlLimits,
  maxNesting,
  tooDeep,
  tooLarge,
} from './yaml-errors.ts';
import { resolvePlain } from './go-scalar.ts';
import {
  scalar,
  type MapEntry,
  type Position,
  type ScalarNode,
  type ScalarValue,
  type YamlNode,
} from './yaml-node.ts';

/**
 * Limits the expansion of aliases. Nested aliases could otherwise expand to a tree that does not fit into
 * memory.
 */
const maxNodes = 1_000_000;

/** More errors would not help the operator. */
const maxReportedErrors = 20;

/** Reads a YAML file, which must be a regular file. Throws the errors of parseYaml, and FILE_NOT_FOUND. */
export async function readYaml(path: string, code: ErrorCode): Promise<YamlNode> {
  return parseBytes(await readRegularFile(path, archiveLimits.manifest), path, code);
}

/** Reads a YAML file that the operator named, which may be a pipe. Throws MANIFEST_INVALID. */
export async function readGivenYaml(path: string): Promise<YamlNode> {
  return parseBytes(await readOperatorFile(path, archiveLimits.manifest), path, 'MANIFEST_INVALID');
}

function parseBytes(bytes: Buffer | undefined, path: string, code: ErrorCode): YamlNode {
  if (bytes === undefined) throw new ProductError(code, `${path}: ${tooLarge}`);
  return parseYaml(bytes.toString('utf8'), path, code);
}

/**
 * Parses one YAML document as BOSH's tools do (YAML 1.1: `yes` is true, `0755` is octal, `<<` merges). Throws
 * a ProductError of the given code with a line per error, each with file, line and column, but without the
 * text, which may be a secret. An empty file is null.
 */
export function parseYaml(
  text: string,
  file: string,
  code: ErrorCode,
  { largeNumbers = 'refused' }: YamlOptions = {},
): YamlNode {
  const beyond = exceedsYamlLimits(text);
  if (beyond !== undefined) throw new ProductError(code, `${file}: ${beyond}`);
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    schema: 'failsafe',
    prettyErrors: false,
    logLevel: 'silent',
    uniqueKeys: false,
  });
  const problems = [
    ...inOrderOfUse(document.errors).map((error) => ({
      offset: error.pos[0],
      message: describeYamlError(error),
    })),
    ...duplicateKeys(document.contents).map((offset) => ({ offset, message: 'Map keys must be unique' })),
  ];
  if (problems.length > 0)
    throw new ProductError(
      code,
      describeErrors(problems, (offset) => at(file, lines, offset)),
    );
  return new DocumentConverter({ file, lines, code, textEnd: unterminatedEnd(text), largeNumbers }).convert(
    document.contents,
  );
}

/** Returns the errors with those about tabs last, because they cause others at the same place. */
function inOrderOfUse(errors: readonly YAMLParseError[]): readonly YAMLParseError[] {
  const isTab = ({ code }: YAMLParseError): boolean => code === 'TAB_AS_INDENT';
  return [...errors.filter((error) => !isTab(error)), ...errors.filter(isTab)];
}

/**
 * Returns the end of the text if its last line has content but no line break. A block scalar at that position
 * has no final line break.
 */
function unterminatedEnd(text: string): number | undefined {
  return /\S[^\S\n]*$/.test(text.slice(text.lastIndexOf('\n') + 1)) ? text.length : undefined;
}

export interface YamlOptions {
  /** How to treat an integer of more than 64 bits. As `text` it keeps its digits. `refused` by default. */
  readonly largeNumbers?: 'refused' | 'text';
}

interface Source {
  readonly file: string;
  readonly lines: LineCounter;
  readonly code: ErrorCode;
  readonly textEnd: number | undefined;
  readonly largeNumbers: 'refused' | 'text';
}

function describeErrors(
  problems: readonly { readonly offset: number; readonly message: string }[],
  position: (offset: number) => string,
): string {
  // The parser may find several problems at one place. The last one is the most useful.
  const places = [...new Map(problems.map((problem) => [problem.offset, problem])).values()];
  const shown = places
    .toSorted((one, other) => one.offset - other.offset)
    .slice(0, maxReportedErrors)
    .map(({ offset, message }) => `${position(offset)}: ${message}`);
  const others = places.length - shown.length;
  return [...shown, ...(others === 0 ? [] : [`... and ${others} others`])].join('\n');
}

function at(file: string, lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${file}:${line}:${col}`;
}

interface Anchored {
  readonly node: YamlNode;
  readonly size: number;
  readonly height: number;
}

/** Converts one parsed document. */
class DocumentConverter {
  readonly #file: string;
  readonly #lines: LineCounter;
  readonly #code: ErrorCode;
  readonly #textEnd: number | undefined;
  readonly #largeNumbers: 'refused' | 'text';
  /** The last anchored node of each name so far. Undefined while the node itself is being converted. */
  readonly #anchored = new Map<string, Anchored | undefined>();
  #size = 0;
  #depth = 0;
  /** The greatest depth below the current anchor. */
  #reached = 0;

  constructor({ file, lines, code, textEnd, largeNumbers }: Source) {
    this.#file = file;
    this.#lines = lines;
    this.#code = code;
    this.#textEnd = textEnd;
    this.#largeNumbers = largeNumbers;
  }

  convert(node: unknown): YamlNode {
    if (isAlias(node)) return this.#alias(node.source, node.range?.[0]);
    const before = this.#size++;
    if (this.#size > maxNodes)
      throw this.#error(undefined, 'its aliases expand to more than a million values');
    const anchor = isNode(node) ? node.anchor : undefined;
    if (anchor === undefined) return this.#enter(node);
    this.#anchored.set(anchor, undefined);
    const outer = this.#reached;
    this.#reached = this.#depth;
    const converted = this.#enter(node);
    const height = this.#reached - this.#depth;
    this.#reached = Math.max(outer, this.#reached);
    this.#anchored.set(anchor, { node: converted, size: this.#size - before, height });
    return converted;
  }

  #enter(node: unknown): YamlNode {
    this.#depth += 1;
    this.#trackDepth(this.#depth);
    const converted = this.#convertOwn(node);
    this.#depth -= 1;
    return converted;
  }

  #trackDepth(depth: number): void {
    if (depth > maxNesting) throw this.#error(undefined, tooDeep);
    this.#reached = Math.max(this.#reached, depth);
  }

  #convertOwn(node: unknown): YamlNode {
    if (isScalar(node)) return this.#scalar(node);
    if (isSeq(node)) {
      return {
        kind: 'list',
        items: node.items.map((item) => this.convert(item)),
        position: this.#position(node.range?.[0]),
      };
    }
    if (isMap(node))
      return { kind: 'map', entries: this.#entries(node), position: this.#position(node.range?.[0]) };
    return scalar(null, this.#position(0));
  }

  /** Resolves an alias. The library's own function would search the whole document for each alias. */
  #alias(anchor: string, offset: number | undefined): YamlNode {
    const known = this.#anchored.get(anchor);
    if (known === undefined) throw this.#error(offset, 'an alias refers to itself or to nothing');
    this.#trackDepth(this.#depth + known.height);
    this.#size += known.size;
    if (this.#size > maxNodes) throw this.#error(offset, 'its aliases expand to more than a million values');
    return known.node;
  }

  #entries(map: YAMLMap): readonly MapEntry[] {
    const merged = new Map<string, MapEntry>();
    const own: MapEntry[] = [];
    for (const pair of map.items) {
      if (isMergeKey(pair)) this.#merge(pair, merged);
      else own.push({ key: this.#key(pair.key), value: this.convert(pair.value) });
    }
    const ownKeys = new Set(own.map(({ key }) => identity(key)));
    return [...own, ...[...merged.values()].filter(({ key }) => !ownKeys.has(identity(key)))];
  }

  /** Merges maps. The first of several merged maps wins, and the map's own keys override all of them. */
  #merge(pair: Pair, merged: Map<string, MapEntry>): void {
    const source = this.convert(pair.value);
    for (const map of source.kind === 'list' ? source.items : [source]) {
      if (map.kind !== 'map')
        throw this.#error(undefined, `'<<' merges maps only (line ${map.position.line})`);
      for (const entry of map.entries) {
        if (!merged.has(identity(entry.key))) merged.set(identity(entry.key), entry);
      }
    }
  }

  #key(node: unknown): ScalarNode {
    const key = this.convert(node);
    if (key.kind === 'scalar') return key;
    throw new ProductError(
      this.#code,
      `${this.#file}:${key.position.line}:${key.position.column}: a key cannot be a ${key.kind}`,
    );
  }

  #scalar(node: Scalar): ScalarNode {
    const position = this.#position(node.range?.[0]);
    const text = this.#scalarText(node);
    const value = scalarValue(node, text);
    if (typeof value === 'number' && !Number.isSafeInteger(value) && /^[-+]?[0-9_]+$/.test(text)) {
      if (this.#largeNumbers === 'text') return { kind: 'scalar', value: text, text, position };
      throw this.#error(node.range?.[0], 'the number is too large; put it in quotes');
    }
    return { kind: 'scalar', value, text, position };
  }

  /**
   * Returns the text of a scalar. The library adds a line break to every block scalar, libyaml only if the
   * last line has one.
   */
  #scalarText(node: Scalar): string {
    const text = typeof node.value === 'string' ? node.value : (node.source ?? '');
    const isBlock = node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED';
    const isOpen = isBlock && this.#textEnd !== undefined && node.range?.[1] === this.#textEnd;
    return isOpen ? text.replace(/\n$/, '') : text;
  }

  #position(offset: number | undefined): Position {
    const { line, col } = this.#lines.linePos(offset ?? 0);
    return { file: this.#file, line: Math.max(line, 1), column: Math.max(col, 1) };
  }

  #error(offset: number | undefined, message: string): ProductError {
    return new ProductError(this.#code, `${at(this.#file, this.#lines, offset ?? 0)}: ${message}`);
  }
}

/**
 * Returns the value of a scalar. An explicit tag decides its type; without one, quoted and block scalars are
 * strings.
 */
function scalarValue(node: Scalar, text: string): ScalarValue {
  const tag = node.tag?.replace('tag:yaml.org,2002:', '');
  if (tag === 'binary') return Buffer.from(text, 'base64').toString('utf8');
  const typed = tag === 'int' || tag === 'float' || tag === 'bool' || tag === 'null';
  if (!typed && (tag !== undefined || node.type !== 'PLAIN')) return text;
  const resolved = resolvePlain(text);
  return resolved.tag === 'timestamp' ? text : resolved.value;
}

function isNode(node: unknown): node is Node {
  return isScalar(node) || isSeq(node) || isMap(node);
}

function isMergeKey(pair: Pair): boolean {
  return isScalar(pair.key) && pair.key.source === '<<' && pair.key.type === 'PLAIN';
}

function identity(key: ScalarNode): string {
  return `${typeof key.value} ${key.text}`;
}
