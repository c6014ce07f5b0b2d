/** A line of /proc/self/mountinfo, as far as it matters here. */
export interface MountEntry {
  readonly target: string;
  readonly type: string;
  readonly source: string;
}

/**
 * Parses /proc/PID/mountinfo (proc(5)). The kernel writes blanks, tabs, newlines and backslashes of a path as octal
 * numbers.
 */
export function parseMountInfo(text: string): readonly MountEntry[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      // optional fields lie between the options and ' - '
      const [before = '', after = ''] = line.split(' - ');
      const [type = '', source = ''] = after.split(' ');
      return { target: decode(before.split(' ')[4] ?? ''), type, source: decode(source) };
    });
}

const decode = (field: string): string =>
  field.replaceAll(/\\([0-7]{3})/gu, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
