declare const brand: unique symbol;

/** The name of a volume. Joined to the mount directory, it is the path of one entry there. */
export type VolumeName = string & { readonly [brand]: 'VolumeName' };

/**
 * Maximum bytes. A file system allows 255, and a mounter adds a suffix for a directory of its own, such as
 * `_mapfs`.
 */
const longest = 249;

/**
 * Parses the name in a request. Returns the error with the text of the old drivers. Names with a leading dot,
 * or with the suffix of a mounter's own directory, are reserved for these directories.
 */
export function parseVolumeName(name: unknown): { readonly name: VolumeName } | { readonly fault: string } {
  if (name === undefined || name === null || name === '') return { fault: "Missing mandatory 'volume_name'" };
  if (typeof name === 'string' && isVolumeName(name)) return { name };
  return { fault: `invalid volume name: ${JSON.stringify(name).slice(0, 100)}` };
}

const isVolumeName = (text: string): text is VolumeName =>
  !/^\.|\.\.|[/\\\p{Cc}]|_mapfs$/u.test(text) && text.isWellFormed() && Buffer.byteLength(text) <= longest;

/**
 * Returns the volume id that a broker returned. Before it mounts, volman appends an underscore and the
 * container's id, and replaces each other underscore by `=`.
 */
export function volumeIdIn(name: VolumeName): string {
  const [first = '', second, ...others] = name.split('_');
  return second === undefined || others.length > 0 ? name : first.replaceAll('=', '_');
}
