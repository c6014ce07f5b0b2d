import { readFile, chmod, lchown, readdir } from 'node:fs/promises';
import { readFileIfPresent } from '../file/files.ts';
import { join } from 'node:path';

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

/**
 * Explains why a script could not change the owner of a file, if its stderr shows that and this VM has a
 * single user id. The kernel's own message is only "Invalid argument".
 */
export function ownershipHint(stderr: string, identities: Identities): string | undefined {
  if (!identities.hasSingleId) return undefined;
  const line = stderr.split('\n').findLast((text) => isRefusal.test(text));
  if (line === undefined) return undefined;
  return `This VM has a single user id, so nothing can belong to or run as another user (${line.trim()}).`;
}

const isRefusal =
  /\b(chown|chgrp|install|chpst|setpriv|su|sudo|runuser)\b.*(Invalid argument|Operation not permitted)/i;

/**
 * Returns the group id of BOSH's directories (bosh-agent: agent/applier/models/job.go). Returns undefined if
 * there is no such group or if this user namespace does not map it. Directories keep the agent's own group
 * then.
 */
export function vcapGroup(identities: Identities): number | undefined {
  const id = identities.groupId('vcap');
  return id !== undefined && identities.canActAsUser(0) && identities.canActAsGroup(id) ? id : undefined;
}

/** Changes the owner of a path to root:vcap if that is possible. */
export async function chownToVcap(path: string, identities: Identities): Promise<void> {
  const group = vcapGroup(identities);
  if (group !== undefined) await lchown(path, 0, group);
}

/**
 * Sets the modes of a BOSH VM on rendered job files: directories and `bin/` files 0750, other files 0640,
 * root:vcap (bosh-agent: agent/applier/jobs/owner_fix.go). Does not change links.
 */
export async function fixJobPermissions(directory: string, identities: Identities): Promise<void> {
  const fix = async (path: string, mode: number): Promise<void> => {
    await chmod(path, mode);
    await chownToVcap(path, identities);
  };
  await fix(directory, 0o750);
  const bin = `${join(directory, 'bin')}/`;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() || (entry.isFile() && path.startsWith(bin))) await fix(path, 0o750);
    else if (entry.isFile()) await fix(path, 0o640);
  }
}
