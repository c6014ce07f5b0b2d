declare const brand: unique symbol;

/** The name of a volume: joined to the mount folder it is the path of one entry there. */
export type VolumeName = string & { readonly [brand]: 'VolumeName' };

/** Bytes: a file system takes 255, and a mounter adds an ending for a folder of its own, such as `_mapfs`. */
const longest = 249;

/**
 * Parses the name in a request, or answers what is wrong, in the old drivers' words. Names with a dot first,
 * or with the ending of a mounter's own folder, are left to these.
 */
export function parseVolumeName(name: unknown): { readonly name: VolumeName } | { readonly fault: string } {
  if (name === undefined || name === null || name === '') return { fault: "Missing mandatory 'volume_name'" };
  if (typeof name === 'string' && isVolumeName(name)) return { name };
  return { fault: `invalid volume name: ${JSON.stringify(name).slice(0, 100)}` };
}

const isVolumeName = (text: string): text is VolumeName =>
  !/^\.|\.\.|[/\\\p{Cc}]|_mapfs$/u.test(text) && text.isWellFormed() && Buffer.byteLength(text) <= longest;

/**
 * The volume id that a broker answered: before it mounts, volman adds the container's id behind an
 * underscore, and writes `=` for each other underscore.
 */
export function volumeIdIn(name: VolumeName): string {
  const [first = '', second, ...others] = name.split('_');
  return second === undefined || others.length > 0 ? name : first.replaceAll('=', '_');
}
