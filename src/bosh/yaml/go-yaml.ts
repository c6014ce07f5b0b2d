import { compareGoKeys } from './go-key-order.ts';
import { codePoints, isBreak, escapeChar, isSimpleKey, scalarText, styleOf } from './go-scalar-text.ts';
import type { MapNode, ListNode, ScalarNode, YamlNode } from './yaml-node.ts';

const lineWidth = 80;
const indentation = 2;

/**
 * Returns YAML text byte for byte as go yaml.v2 writes it (sorted keys, its quoting, folding at 80 columns).
 * The bosh CLI hashes such text to detect a changed manifest (bosh-cli:
 * deployment/template/deployment_template.go), so both tools can use the same state file without a redeploy.
 */
export function toGoYaml(node: YamlNode): string {
  const writer = new GoYamlWriter();
  writer.write(node);
  return writer.finish();
}

/** The indentation of a block, -2 at the root, and the kind of collection that contains the node. */
interface Position {
  readonly indent: number;
  readonly within: 'root' | 'map' | 'list' | 'key';
}

/** go yaml.v2's emitter (emitterc.go), reduced to block style without anchors, tags and comments. */
class GoYamlWriter {
  readonly #text: string[] = [];
  #column = 0;
  /** True if the line has only spaces, dashes and question marks so far. */
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
    // The emitter increases the indentation of a scalar only inside a collection.
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
    const chars = codePoints(text);
    let spaces = false;
    let breaks = false;
    for (const [index, char] of chars.entries()) {
      if (char === ' ') {
        if (fold && !spaces && this.#column > lineWidth && mayEndLine(chars, index, quote))
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
    const chars = codePoints(text);
    let spaces = false;
    // The emitter checks for a byte order mark at the start of the text instead of at the character. We do
    // the same, for equal bytes.
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
    const chars = codePoints(text);
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
    const width = Math.max(indent, 0);
    if (!this.#inIndentation || this.#column > width || (this.#column === width && !this.#afterSpace))
      this.#break();
    if (this.#column < width) this.#put(' '.repeat(width - this.#column));
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
    this.#column += codePoints(text).length;
  }

  #break(char = '\n'): void {
    this.#text.push(char);
    this.#column = 0;
    this.#inIndentation = true;
    this.#afterSpace = true;
  }
}

/** Returns true if a line may end at that space: not beside a quote, and not before another space. */
function mayEndLine(chars: readonly string[], index: number, quote: '' | "'"): boolean {
  const inside = quote === '' || (index > 0 && index < chars.length - 1);
  return inside && chars[index + 1] !== ' ';
}
