declare const brand: unique symbol;

/**
 * A text that names exactly one entry of a folder: joined to the path of a folder, it cannot leave the
 * folder.
 */
export type PathSegment = string & { readonly [brand]: 'PathSegment' };

/**
 * A file system allows 255 bytes; the rest is for suffixes that we add: `.tgz`, the name of a temporary file.
 */
const maxBytes = 200;

/**
 * Checks a text from a file (a name, version, fingerprint, id) and returns it as a path segment. Only this
 * function turns such a text into a path segment. Returns undefined if the text is empty, `.`, `..` or too
 * long, or has a slash, a backslash or a control character.
 */
export function parsePathSegment(text: string): PathSegment | undefined {
  if (text === '' || text === '.' || text === '..' || Buffer.byteLength(text) > maxBytes) return undefined;
  return isSegment(text) ? text : undefined;
}

// eslint-disable-next-line no-control-regex -- the function rejects control characters
const isSegment = (text: string): text is PathSegment => !/[/\\\u0000-\u001f\u007f]/u.test(text);

/**
 * Returns a text of our own (a constant, a digest, a random id) as a path segment. Throws a plain Error
 * otherwise, because that is a bug.
 */
export function pathSegment(text: string): PathSegment {
  const segment = parsePathSegment(text);
  if (segment === undefined) throw new Error(segmentProblem(text));
  return segment;
}

/** Returns why parsePathSegment rejects a text; the caller puts the name of the field in front. */
export function segmentProblem(text: string): string {
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return `${JSON.stringify(shown)} cannot be the name of one file or folder; slashes, '.', '..' and control characters are refused`;
}
