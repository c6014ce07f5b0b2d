/** The identification of an operating system in its file os-release (man 5 os-release). */
export interface OsRelease {
  /** `ID`, such as `debian`. */
  readonly distribution: string;
  /** `VERSION_CODENAME`, such as `bookworm`; absent if the file has none. */
  readonly codeName?: string;
}

/** The paths of os-release in the order in which programs look for it. */
export const osReleasePaths = ['/etc/os-release', '/usr/lib/os-release'] as const;

/** Usual files have half a kilobyte. */
export const osReleaseLimit = 64 * 1024;

/**
 * Parses the text of os-release. Returns undefined if it does not name the distribution. As in a shell, the
 * last assignment of a variable counts. Values of another form than the one of the standard are ignored.
 */
export function parseOsRelease(text: string): OsRelease | undefined {
  const distribution = valueOf(text, 'ID');
  const codeName = valueOf(text, 'VERSION_CODENAME');
  if (distribution === undefined) return undefined;
  return { distribution, ...(codeName !== undefined && { codeName }) };
}

function valueOf(text: string, variable: string): string | undefined {
  const line = new RegExp(`^${variable}=(["']?)([a-z0-9][a-z0-9._-]{0,63})\\1[ \\t\\r]*$`, 'gmu');
  return [...text.matchAll(line)].at(-1)?.[2];
}

/** Returns the name that BOSH uses for an operating system, such as `debian-bookworm`. */
export const systemName = ({ distribution, codeName }: OsRelease): string =>
  codeName === undefined ? distribution : `${distribution}-${codeName}`;

/**
 * Returns whether a name is that of the operating system, also with a suffix: `ubuntu-noble-fips` names
 * Ubuntu noble, and `ubuntu-nobler` does not. Without a code name in os-release any name that begins with the
 * distribution is valid.
 */
export function isNameOf(name: string, system: OsRelease): boolean {
  const own = systemName(system);
  return name.startsWith(own) && !/^[a-z0-9]/u.test(name.slice(own.length));
}
