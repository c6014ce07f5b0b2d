import { readFile } from 'node:fs/promises';
import { readFileIfPresent } from '../file/durable-file.ts';

/** The users and groups of the machine, and which of them this process can use for files and processes. */
export interface Identities {
  userId(name: string): number | undefined;
  groupId(name: string): number | undefined;
  homeOf(name: string): string | undefined;
  /** Returns the group id in a user's entry in passwd. */
  primaryGroupId(userId: number): number | undefined;
  /**
   * Returns true if the agent can act as that user or group: it is root, and its user namespace maps the id.
   */
  canActAsUser(id: number): boolean;
  canActAsGroup(id: number): boolean;
  /** True in a user namespace that maps only one id. No file can belong to another user then. */
  readonly hasSingleId: boolean;
}

export interface IdentityFiles {
  readonly passwd: string;
  readonly group: string;
  readonly userMap: string;
  readonly groupMap: string;
  /** The agent's own effective ids. */
  readonly user: number;
  readonly userGroup: number;
}

/** Reads the machine's users and the id maps of this process. */
export async function loadIdentities(): Promise<Identities> {
  return parseIdentities({
    passwd: (await readFileIfPresent('/etc/passwd')) ?? '',
    group: (await readFileIfPresent('/etc/group')) ?? '',
    userMap: await readFile('/proc/self/uid_map', 'utf8'),
    groupMap: await readFile('/proc/self/gid_map', 'utf8'),
    user: process.geteuid?.() ?? 0,
    userGroup: process.getegid?.() ?? 0,
  });
}

/** Parses the texts of the files for {@link loadIdentities}. */
export function parseIdentities(files: IdentityFiles): Identities {
  const users = idsByName(files.passwd);
  const primaryGroups = primaryGroupsOf(files.passwd);
  const homes = homesOf(files.passwd);
  const groups = idsByName(files.group);
  const isRoot = files.user === 0;
  const userRanges = parseIdMap(files.userMap);
  const groupRanges = parseIdMap(files.groupMap);
  return {
    userId: (name) => users.get(name),
    groupId: (name) => groups.get(name),
    homeOf: (name) => homes.get(name),
    primaryGroupId: (userId) => primaryGroups.get(userId),
    canActAsUser: (id) => id === files.user || (isRoot && isMapped(userRanges, id)),
    canActAsGroup: (id) => id === files.userGroup || (isRoot && isMapped(groupRanges, id)),
    hasSingleId: userRanges.reduce((count, range) => count + range.count, 0) === 1,
  };
}

interface Range {
  readonly first: number;
  readonly count: number;
}

// lines of "<first inside> <first outside> <count>" (user_namespaces(7))
function parseIdMap(map: string): readonly Range[] {
  return map
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter((fields) => fields.length === 3 && fields.every(Number.isFinite))
    .map(([first = 0, , count = 0]) => ({ first, count }));
}

function isMapped(ranges: readonly Range[], id: number): boolean {
  return ranges.some((range) => id >= range.first && id < range.first + range.count);
}

// passwd(5) and group(5): the name is the first field, the id the third
function idsByName(text: string): ReadonlyMap<string, number> {
  const ids = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [name, , id] = line.split(':');
    if (name !== undefined && name !== '' && /^[0-9]+$/.test(id ?? '')) ids.set(name, Number(id));
  }
  return ids;
}

// passwd(5): the third field is the user id, the fourth the group id. The first entry of a user id counts.
function primaryGroupsOf(passwd: string): ReadonlyMap<number, number> {
  const groups = new Map<number, number>();
  for (const line of passwd.split('\n')) {
    const [, , user = '', group = ''] = line.split(':');
    if (/^[0-9]+$/.test(user) && /^[0-9]+$/.test(group) && !groups.has(Number(user))) {
      groups.set(Number(user), Number(group));
    }
  }
  return groups;
}

// passwd(5): the sixth field
function homesOf(text: string): ReadonlyMap<string, string> {
  const entries = text.split('\n').map((line) => line.split(':'));
  return new Map(
    entries.flatMap(([name = '', , , , , home = '']) => (home.startsWith('/') ? [[name, home]] : [])),
  );
}
