/** The names in promised.txt: a test per line, `#` starts a comment. Throws for a name that stands there twice. */
export function parsePromised(text: string): string[] {
  const names = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined) throw new Error(`promised.txt names a test twice: ${twice}`);
  return names;
}
