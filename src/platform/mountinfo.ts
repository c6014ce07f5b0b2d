import { readFile } from 'node:fs/promises';

/** One line of /proc/<pid>/mountinfo (proc(5)), as far as it is read here. */
export interface MountEntry {
  /** `major:minor` of the file system, field 3. */
  readonly device: string;
  /** The directory of that file system which is mounted, field 4. */
  readonly root: string;
  readonly target: string;
  /** Options of this mount alone, field 6. */
  readonly options: readonly string[];
  /** What is mounted below it shows in other mount namespaces, too (field 7). */
  readonly isShared: boolean;
  /** Of the file system. */
  readonly type: string;
  readonly source: string;
  /** Of the file system, all that follows its source. */
  readonly fileSystemOptions: readonly string[];
}

/** Octal escapes stand for bytes; the rest of the field is UTF-8 as it is. */
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

/** Parses the text of a mountinfo file; the order is the kernel's, so a later entry covers an earlier one. */
export function parseMountInfo(text: string): MountEntry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map(parseLine);
}

/** The mounts that a process sees: those of its mount namespace, below its root directory. */
export async function readMountTable(pid: number | 'self' = 'self'): Promise<MountEntry[]> {
  return parseMountInfo(await readFile(`/proc/${pid}/mountinfo`, 'utf8'));
}

/** True if `path` is `directory` or lies below it, by their texts. */
export function isAtOrBelow(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
}

/** The mounts whose mount point is that path or lies below it. */
export function mountsAtOrBelow(table: readonly MountEntry[], path: string): MountEntry[] {
  return table.filter((entry) => isAtOrBelow(entry.target, path));
}
