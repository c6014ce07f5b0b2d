import { readFile } from 'node:fs/promises';

/** The fields of one line of /proc/<pid>/mountinfo (proc(5)) that are used here. */
export interface MountEntry {
  /** `major:minor` of the file system, field 3. */
  readonly device: string;
  /** The directory of that file system that is mounted, field 4. */
  readonly root: string;
  readonly target: string;
  /** Options of this mount only, field 6. */
  readonly options: readonly string[];
  /** True if mounts below it propagate to other mount namespaces (field 7). */
  readonly isShared: boolean;
  /** The type of the file system. */
  readonly type: string;
  readonly source: string;
  /** Options of the file system, everything after its source. */
  readonly fileSystemOptions: readonly string[];
}

/** Decodes a path: octal escapes stand for bytes; the rest of the field is plain UTF-8. */
function decodePath(field: string): string {
  if (!field.includes('\\')) {
    return field;
  }
  const bytes = Buffer.from(field).toString('latin1');
  const decoded = bytes.replace(/\\([0-7]{3})/g, (_, octal: string) =>
    String.fromCharCode(Number.parseInt(octal, 8)),
  );
  return Buffer.from(decoded, 'latin1').toString();
}

function parseLine(line: string): MountEntry {
  const fields = line.split(' ');
  const separator = fields.indexOf('-', 6);
  const [, , device, root, target, options] = fields;
  if (separator === -1 || root === undefined || target === undefined || options === undefined) {
    throw new Error(`not a line of mountinfo: ${line}`);
  }
  return {
    device: device ?? '',
    root: decodePath(root),
    target: decodePath(target),
    options: options.split(','),
    isShared: fields.slice(6, separator).some((field) => field.startsWith('shared:')),
    type: fields[separator + 1] ?? '',
    source: decodePath(fields[separator + 2] ?? ''),
    fileSystemOptions: (fields[separator + 3] ?? '').split(','),
  };
}

/** Parses the text of a mountinfo file, in the kernel's order: a later entry covers an earlier one. */
export function parseMountInfo(text: string): MountEntry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseLine);
}

/** Reads the mounts that a process sees: those of its mount namespace, below its root directory. */
export async function readMountTable(pid: number | 'self' = 'self'): Promise<MountEntry[]> {
  return parseMountInfo(await readFile(`/proc/${pid}/mountinfo`, 'utf8'));
}

/** True if `path` is `directory` or is below it. Compares only the texts. */
export function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** Returns the mounts whose mount point is that path or is below it. */
export function mountsAtOrBelow(table: readonly MountEntry[], path: string): MountEntry[] {
  return table.filter((entry) => isAtOrBelow(entry.target, path));
}

/** Returns the mount that contains `path`, not counting a mount at `path` itself. */
export function parentMount(mounts: readonly MountEntry[], path: string): MountEntry | undefined {
  const above = mounts.filter(
    ({ target }) => target !== path && `${path}/`.startsWith(target === '/' ? '/' : `${target}/`),
  );
  return above.reduce<MountEntry | undefined>(
    (best, mount) => (best !== undefined && best.target.length > mount.target.length ? best : mount),
    undefined,
  );
}
