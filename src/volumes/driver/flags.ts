/** The known flags. A switch needs no value; `=true` and `=false` are valid. */
export type FlagTable = Readonly<Record<string, 'text' | 'switch'>>;

/** The parsed flags. */
export interface Flags {
  string(name: string): string | undefined;
  isSet(name: string): boolean;
}

/**
 * Parses flags as Go's package flag does: `-name value`, `-name=value`, with one dash or two. Adds errors to
 * `faults`.
 */
export function parseFlags(args: readonly string[], table: FlagTable, faults: string[]): Flags {
  const values = new Map<string, string>();
  const rest = [...args];
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [, name = '', given] = /^--?([^-=][^=]*)(?:=(.*))?$/su.exec(word) ?? [];
    const kind = Object.hasOwn(table, name) ? table[name] : undefined;
    if (kind === undefined) {
      faults.push(`there is no flag ${JSON.stringify(word.slice(0, 80))}`);
      continue;
    }
    const value = given ?? (kind === 'switch' ? 'true' : rest.shift());
    if (value === undefined) faults.push(`-${name} needs a value`);
    else if (kind === 'switch' && value !== 'true' && value !== 'false')
      faults.push(`-${name} must be true or false`);
    else values.set(name, value);
  }
  return {
    // Go programs treat an empty string as no value
    string: (name) => values.get(name) || undefined,
    isSet: (name) => values.get(name) === 'true',
  };
}
