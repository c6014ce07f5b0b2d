export type PathToken =
  | { readonly kind: 'index'; readonly index: number; readonly modifiers: readonly Modifier[] }
  | { readonly kind: 'after-last' }
  | {
      readonly kind: 'match';
      readonly key: string;
      readonly value: string;
      readonly optional: boolean;
      readonly modifiers: readonly Modifier[];
    }
  | { readonly kind: 'key'; readonly key: string; readonly optional: boolean };

export type Modifier = 'prev' | 'next' | 'before' | 'after';

const modifiers: readonly string[] = ['prev', 'next', 'before', 'after'] satisfies Modifier[];

/**
 * Parses the path of an operation (go-patch: patch/pointer.go): `/key`, `/0`, `/-1`, `/-` for the position
 * after the last item, `/name=x` for the item of that name, `?` for optional parts from there on, `:prev
 * :next :before :after`, and `~0 ~1 ~7` for `~ / :`. The empty path is the whole document. Throws a plain
 * Error if the path is invalid.
 */
export function parsePath(text: string): readonly PathToken[] {
  if (text === '') return [];
  if (!text.startsWith('/')) throw new Error(`the path must start with '/'`);
  const parts = text.slice(1).split('/');
  let optional = false;
  return parts.map((part, position) => {
    const [name = '', ...suffixes] = part.split(':');
    const found = suffixes.map(parseModifier);
    const decoded = name.replaceAll('~7', ':').replaceAll('~1', '/').replaceAll('~0', '~');
    if (decoded === '-' && position === parts.length - 1) {
      if (found.length > 0) throw new Error(`'-' takes no modifiers`);
      return { kind: 'after-last' };
    }
    if (/^[-+]?[0-9]+$/.test(decoded)) return { kind: 'index', index: Number(decoded), modifiers: found };
    optional ||= decoded.endsWith('?');
    const bare = decoded.replace(/\?$/, '');
    const equals = bare.indexOf('=');
    if (equals !== -1) {
      return {
        kind: 'match',
        key: bare.slice(0, equals),
        value: bare.slice(equals + 1),
        optional,
        modifiers: found,
      };
    }
    if (found.length > 0) throw new Error(`the key '${bare}' takes no modifiers`);
    return { kind: 'key', key: bare, optional };
  });
}

/** Returns the path up to and including that many tokens, as the operator wrote it. */
export function pathPrefix(text: string, tokens: number): string {
  return text.split('/', tokens + 1).join('/');
}

function parseModifier(text: string): Modifier {
  if (isModifier(text)) return text;
  throw new Error(`expected one of the modifiers 'prev', 'next', 'before' or 'after' but found '${text}'`);
}

function isModifier(text: string): text is Modifier {
  return modifiers.includes(text);
}
