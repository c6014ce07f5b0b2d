/** One mount of a batch. One process, `mount -a -T`, makes all mounts of a batch. */
export interface FstabEntry {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly options: readonly string[];
}

const encodeField = (field: string): string =>
  field.replace(/[\\\s#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);

/**
 * Returns the text of an fstab(5) file. Spaces, tabs, newlines and backslashes in paths are escaped as
 * mount(8) reads them.
 */
export function formatFstab(entries: readonly FstabEntry[]): string {
  return entries
    .map(
      ({ source, target, type, options }) =>
        `${encodeField(source)} ${encodeField(target)} ${type} ${options.join(',')} 0 0\n`,
    )
    .join('');
}
