declare const brand: unique symbol;

/** A text that names exactly one entry of a folder: joined to a folder's path it cannot lead out of it. */
export type PathSegment = string & { readonly [brand]: 'PathSegment' };

/** A file system takes 255 bytes; the rest is for what we add: `.tgz`, the name of a draft. */
const maxBytes = 200;

/**
 * The one way from a text of a file (a name, version, fingerprint, id) to a part of a path. Undefined for a text that is empty,
 * `.` or `..`, too long, or that has a slash, a backslash or a control character.
 */
export function parsePathSegment(text: string): PathSegment | undefined {
  if (text === '' || text === '.' || text === '..' || Buffer.byteLength(text) > maxBytes) return undefined;
  return isSegment(text) ? text : undefined;
}

// eslint-disable-next-line no-control-regex -- control characters are what is refused
const isSegment = (text: string): text is PathSegment => !/[/\\\u0000-\u001f\u007f]/u.test(text);

/**
 * A text of our own making (a constant, a digest, a random id); one that is no segment is a fault of the
 * program.
 */
export function pathSegment(text: string): PathSegment {
  const segment = parsePathSegment(text);
  if (segment === undefined) throw new Error(segmentProblem(text));
  return segment;
}

/** What is wrong with a text that parsePathSegment refuses, to be put after the name of its place. */
export function segmentProblem(text: string): string {
  const shown = text.length > 80 ? `${text.slice(0, 80)}…` : text;
  return `${JSON.stringify(shown)} cannot be the name of one file or folder; slashes, '.', '..' and control characters are refused`;
}
