import { compareGoKeys } from './go-key-order.ts';
import { resolvePlain } from './go-scalar.ts';
import { isBreak, isPrintable, scalarStyle, simpleKeyLimit } from './go-scalar-style.ts';
import type { ScalarStyle } from './go-scalar-style.ts';
import type { MapNode, ListNode, ScalarNode, YamlNode } from './yaml-node.ts';

const lineWidth = 80;
const indentation = 2;

/**
 * YAML text byte for byte as go yaml.v2 writes it (sorted keys, its quoting, folding at 80 columns). The bosh CLI hashes
 * such text to tell whether a manifest changed (bosh-cli: deployment/template/deployment_template.go), so that a state
 * file can go from one tool to the other without a redeploy.
 */
export function toGoYaml(node: YamlNode): string {
  const writer = new GoYamlWriter();
  writer.write(node);
  return writer.finish();
}

/** Indentation of a block, -2 at the root, and where the node stands in it. */
interface Position {
  readonly indent: number;
  readonly within: 'root' | 'map' | 'list' | 'key';
}

/** go yaml.v2's emitter (emitterc.go), as far as block style without anchors, tags and comments needs it. */
class GoYamlWriter {
  readonly #text: string[] = [];
  #column = 0;
  /** Only spaces, dashes and question marks since the line began. */
  #inIndentation = true;
  #afterSpace = true;

  write(node: YamlNode, position: Position = { indent: -indentation, within: 'root' }): void {
    switch (node.kind) {
      case 'scalar':
        return this.#scalar(node, position);
      case 'list':
        return node.items.length === 0 ? this.#indicator('[]', true) : this.#list(node, position);
      case 'map':
        return node.entries.length === 0 ? this.#indicator('{}', true) : this.#map(node, position);
    }
  }

  finish(): string {
    if (this.#column > 0) this.#break();
    return this.#text.join('');
  }

  #list(node: ListNode, { indent: outer, within }: Position): void {
    const indentless = within === 'map' && !this.#inIndentation;
    const indent = outer < 0 ? 0 : outer + (indentless ? 0 : indentation);
    for (const item of node.items) {
      this.#startLine(indent);
      this.#indicator('-', true, true);
      this.write(item, { indent, within: 'list' });
    }
  }

  #map(node: MapNode, { indent: outer }: Position): void {
    const indent = outer < 0 ? 0 : outer + indentation;
    const entries = node.entries.toSorted((a, b) => compareGoKeys(a.key, b.key));
    for (const { key, value } of entries) {
      this.#startLine(indent);
      if (isSimpleKey(key)) {
        this.#scalar(key, { indent, within: 'key' });
        this.#indicator(':', false);
      } else {
        this.#indicator('?', true, true);
        this.#scalar(key, { indent, within: 'map' });
        this.#startLine(indent);
        this.#indicator(':', true, true);
      }
      this.write(value, { indent, within: 'map' });
    }
  }

  #scalar(node: ScalarNode, { indent: outer, within }: Position): void {
    const key = within === 'key';
    const text = scalarText(node);
    const style = styleOf(node, text, key);
    // The emitter raises the indentation for a scalar inside of a collection only.
    const indent = outer < 0 ? indentation : outer + indentation;
    switch (style) {
      case 'plain':
        return this.#folded(text, { indent, fold: !key, quote: '' });
      case 'single':
        return this.#folded(text, { indent, fold: !key, quote: "'" });
      case 'double':
        return this.#double(text, { indent, fold: !key });
      case 'literal':
        return this.#literal(text, indent);
    }
  }

  #folded(text: string, { indent, fold, quote }: { indent: number; fold: boolean; quote: '' | "'" }): void {
    if (!this.#afterSpace) this.#put(' ');
    this.#put(quote);
    this.#inIndentation = false;
    const chars = [...text];
    let spaces = false;
    let breaks = false;
    for (const [index, char] of chars.entries()) {
      if (char === ' ') {
        const inside = quote === '' || (index > 0 && index < chars.length - 1);
        if (fold && !spaces && this.#column > lineWidth && inside && chars[index + 1] !== ' ')
          this.#startLine(indent);
        else this.#put(char);
        spaces = true;
      } else if (isBreak(char)) {
        if (!breaks && char === '\n') this.#break();
        this.#break(char);
        this.#inIndentation = true;
        breaks = true;
      } else {
        if (breaks) this.#startLine(indent);
        this.#put(char === "'" && quote !== '' ? "''" : char);
        this.#inIndentation = false;
        spaces = false;
        breaks = false;
      }
    }
    this.#put(quote);
    this.#afterSpace = false;
    this.#inIndentation = false;
  }

  #double(text: string, { indent, fold }: { indent: number; fold: boolean }): void {
    this.#indicator('"', true);
    const chars = [...text];
    let spaces = false;
    // The emitter asks for a byte order mark at the start of the text instead of at the character; kept for equal bytes.
    const escapeAll = chars[0] === '\ufeff';
    for (const [index, char] of chars.entries()) {
      if (char === ' ' && !escapeAll) {
        if (fold && !spaces && this.#column > lineWidth && index > 0 && index < chars.length - 1) {
          this.#startLine(indent);
          if (chars[index + 1] === ' ') this.#put('\\');
        } else this.#put(char);
      } else this.#put(escapeChar(char, escapeAll));
      spaces = char === ' ';
    }
    this.#indicator('"', false);
  }

  #literal(text: string, indent: number): void {
    this.#indicator('|', true);
    const chars = [...text];
    if (chars[0] === ' ' || isBreak(chars[0])) this.#put(String(indentation));
    if (!isBreak(chars.at(-1))) this.#put('-');
    else if (chars.length === 1 || isBreak(chars.at(-2))) this.#put('+');
    this.#break();
    let breaks = true;
    for (const char of chars) {
      if (isBreak(char)) this.#break(char);
      else {
        if (breaks) this.#startLine(indent);
        this.#put(char);
        this.#inIndentation = false;
      }
      breaks = isBreak(char);
    }
    this.#afterSpace = true;
  }

  #startLine(indent: number): void {
    const wanted = Math.max(indent, 0);
    if (!this.#inIndentation || this.#column > wanted || (this.#column === wanted && !this.#afterSpace))
      this.#break();
    if (this.#column < wanted) this.#put(' '.repeat(wanted - this.#column));
    this.#afterSpace = true;
    this.#inIndentation = true;
  }

  #indicator(text: string, needsSpace: boolean, keepsIndentation = false): void {
    if (needsSpace && !this.#afterSpace) this.#put(' ');
    this.#put(text);
    this.#afterSpace = false;
    this.#inIndentation &&= keepsIndentation;
  }

  #put(text: string): void {
    this.#text.push(text);
    this.#column += [...text].length;
  }

  #break(char = '\n'): void {
    this.#text.push(char);
    this.#column = 0;
    this.#inIndentation = true;
    this.#afterSpace = true;
  }
}

function isSimpleKey(key: ScalarNode): boolean {
  const text = scalarText(key);
  return ![...text].some(isBreak) && Buffer.byteLength(text) <= simpleKeyLimit;
}

function styleOf(node: ScalarNode, text: string, key: boolean): ScalarStyle {
  if (typeof node.value !== 'string') return 'plain';
  const { tag } = resolvePlain(text);
  return scalarStyle(text, { key, ambiguous: tag !== 'text' || isBase60(text) });
}

function isBase60(text: string): boolean {
  return /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/.test(text);
}

function scalarText({ value, text }: ScalarNode): string {
  if (value === null) return 'null';
  if (typeof value !== 'number') return String(value);
  const isFloat = /[.eEnN]/.test(text) && !/^[-+]?0[xX]/.test(text);
  return isFloat || !Number.isInteger(value) ? floatText(value) : String(value);
}

/** Go's strconv.FormatFloat(value, 'g', -1, 64), infinities as YAML has them. */
function floatText(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value > 0 ? '.inf' : '-.inf';
  const [mantissa = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (power >= -4 && power < 6) return Object.is(value, -0) ? '-0' : decimal(value);
  return `${mantissa}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

function decimal(value: number): string {
  const text = String(value);
  if (!text.includes('e')) return text;
  return value.toFixed(20).replace(/0+$/, '');
}

const escapes: ReadonlyMap<number, string> = new Map([
  [0x00, '0'],
  [0x07, 'a'],
  [0x08, 'b'],
  [0x09, 't'],
  [0x0a, 'n'],
  [0x0b, 'v'],
  [0x0c, 'f'],
  [0x0d, 'r'],
  [0x1b, 'e'],
  [0x22, '"'],
  [0x5c, '\\'],
  [0x85, 'N'],
  [0xa0, '_'],
  [0x2028, 'L'],
  [0x2029, 'P'],
]);

function escapeChar(char: string, always: boolean): string {
  const code = char.codePointAt(0) ?? 0;
  const mustEscape = always || !isPrintable(code) || isBreak(char) || char === '"' || char === '\\';
  if (!mustEscape) return char;
  const short = escapes.get(code);
  if (short !== undefined) return `\\${short}`;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
