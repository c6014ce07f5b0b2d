/**
 * A decoded form of a text. Each character maps to its range in the original, so that a secret found here can
 * be removed there.
 */
export interface DecodedView {
  readonly text: string;
  /** The start and the end in the original of the character at an index. */
  readonly start: (index: number) => number;
  readonly end: (index: number) => number;
  /** True if each character is one byte: secrets are then searched for as UTF-8. */
  readonly isBytes: boolean;
}

/** Deep enough for a URL in JSON in base64 in a quoted text. */
const maxDepth = 4;

/** The limit in characters for all views of one text: a server must not be able to keep this process busy. */
const maxLength = 2_000_000;

/**
 * Returns the text itself and its decoded forms for all encodings that programs use for quoting, in any
 * order, each once. Undefined if the decoded forms exceed the limit.
 */
export function viewsOf(text: string): readonly DecodedView[] | undefined {
  const own: DecodedView = { text, start: (index) => index, end: (index) => index + 1, isBytes: false };
  const views = [own];
  const seen = new Set([text]);
  let size = text.length;
  let previous: readonly DecodedView[] = views;
  for (let depth = 0; depth < maxDepth && previous.length > 0; depth += 1) {
    const next: DecodedView[] = [];
    for (const view of previous)
      for (const decode of decoders) {
        if (size > maxLength) return undefined;
        const decoded = decode(view);
        if (decoded === undefined || seen.has(decoded.text)) continue;
        seen.add(decoded.text);
        size += decoded.text.length;
        next.push(decoded);
      }
    views.push(...next);
    previous = next;
  }
  return views;
}

const decoders: readonly ((view: DecodedView) => DecodedView | undefined)[] = [
  unescaped,
  withoutEntities,
  (view) => percentDecoded(view, false),
  (view) => percentDecoded(view, true),
  ...[0, 1, 2, 3].map((offset) => (view: DecodedView) => base64Decoded(view, offset)),
];

/** Collects the characters of a view with their ranges in the original. */
class ViewBuilder {
  readonly #parts: string[] = [];
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #of: DecodedView;

  constructor(of: DecodedView) {
    this.#of = of;
  }

  /** Adds text whose characters all stand for [from, to) of the previous view. */
  add(part: string, from: number, to: number): void {
    this.#parts.push(part);
    for (let index = 0; index < part.length; index += 1) {
      this.#starts.push(this.#of.start(from));
      this.#ends.push(this.#of.end(to - 1));
    }
  }

  copy(from: number, to: number): void {
    for (let index = from; index < to; index += 1) this.add(this.#of.text[index] ?? '', index, index + 1);
  }

  build(isBytes: boolean): DecodedView {
    const [starts, ends] = [this.#starts, this.#ends];
    return {
      text: this.#parts.join(''),
      start: (index) => starts[index] ?? 0,
      end: (index) => ends[index] ?? 0,
      isBytes,
    };
  }
}

/** Returns the view with each match replaced; undefined if there is no match. */
function replaced(
  view: DecodedView,
  pattern: RegExp,
  decode: (found: string) => string,
): DecodedView | undefined {
  let builder: ViewBuilder | undefined;
  let end = 0;
  for (const match of view.text.matchAll(pattern)) {
    builder ??= new ViewBuilder(view);
    builder.copy(end, match.index);
    end = match.index + match[0].length;
    builder.add(decode(match[0]), match.index, end);
  }
  builder?.copy(end, view.text.length);
  return builder?.build(view.isBytes);
}

const namedEscapes: Readonly<Record<string, string>> = {
  n: '\n',
  r: '\r',
  t: '\t',
  b: '\b',
  f: '\f',
  v: '\v',
  e: '\x1B',
};

/** Decodes the escapes of JSON, Go's %q, JavaScript and Ruby. */
function unescaped(view: DecodedView): DecodedView | undefined {
  if (!view.text.includes('\\')) return undefined;
  return replaced(view, /\\(?:u[0-9a-f]{4}|x[0-9a-f]{2}|[^ux])/giu, (found) => {
    const letter = found[1] ?? '';
    if (letter === 'u' || letter === 'x') return String.fromCharCode(Number.parseInt(found.slice(2), 16));
    return namedEscapes[letter] ?? found.slice(1);
  });
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Decodes HTML entities: proxies respond with HTML pages. */
function withoutEntities(view: DecodedView): DecodedView | undefined {
  if (!view.text.includes('&')) return undefined;
  return replaced(view, /&(?:#\d{1,6}|#x[\da-f]{1,5}|amp|lt|gt|quot|apos);/giu, (found) => {
    const name = found.slice(1, -1).toLowerCase();
    if (!name.startsWith('#')) return entities[name] ?? found;
    return String.fromCodePoint(Number(name.startsWith('#x') ? `0${name.slice(1)}` : name.slice(1)));
  });
}

/** Decodes percent-encoding of URLs; in forms a blank is a plus. */
function percentDecoded(view: DecodedView, isForm: boolean): DecodedView | undefined {
  if (!view.text.includes(isForm ? '+' : '%')) return undefined;
  const pattern = isForm ? /(?:%[0-9a-f]{2})+|\+/giu : /(?:%[0-9a-f]{2})+/giu;
  const decoder = new TextDecoder();
  return replaced(view, pattern, (found) => {
    if (found === '+') return ' ';
    const bytes = found
      .slice(1)
      .split('%')
      .map((digits) => Number.parseInt(digits, 16));
    return view.isBytes ? String.fromCharCode(...bytes) : decoder.decode(Uint8Array.from(bytes));
  });
}

/**
 * Matches both alphabets, with line breaks allowed. Ordinary words match as well; they decode to bytes that
 * match no secret.
 */
const base64Run = /[\w+/-]{6,}(?:[ \t]*\r?\n[ \t]*[\w+/-]+)*/gu;

/**
 * Decodes all base64 runs, with a NUL after each. A quotation may begin in the middle of the encoded text or
 * follow other letters, so the groups of four may begin at any of four offsets.
 */
function base64Decoded(view: DecodedView, offset: number): DecodedView | undefined {
  const builder = new ViewBuilder(view);
  let isEmpty = true;
  for (const match of view.text.matchAll(base64Run)) {
    const positions: number[] = [];
    let run = '';
    for (let index = 0; index < match[0].length; index += 1) {
      const character = match[0][index] ?? '';
      if (/\s/u.test(character)) continue;
      run += character === '-' ? '+' : character === '_' ? '/' : character;
      positions.push(match.index + index);
    }
    const cut = run.length - ((run.length - offset) % 4 === 1 ? 1 : 0);
    const bytes = atob(run.slice(offset, cut));
    for (let index = 0; index < bytes.length; index += 1) {
      const first = offset + Math.floor(index / 3) * 4 + (index % 3);
      builder.add(bytes[index] ?? '', positions[first] ?? 0, (positions[first + 1] ?? 0) + 1);
    }
    builder.add('\0', positions[positions.length - 1] ?? 0, (positions[positions.length - 1] ?? 0) + 1);
    isEmpty = false;
  }
  return isEmpty ? undefined : builder.build(true);
}
