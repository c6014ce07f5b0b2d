import { readFileSync, statSync, type Stats } from 'node:fs';
import { lstat, mkdir, readlink } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { ProductError } from '../errors/product-error.ts';

/** The limit of Linux for following links. */
const maxLinks = 40;

/**
 * Creates a private folder (0700) with its parents, or checks an existing one. Returns its real path; use
 * that path from then on. Rejects with FILE_NOT_TRUSTED, which has the next step, if another user could
 * replace its contents, which this user keeps, runs or locks: the folder belongs to another user or others
 * can write in it, the same holds for a parent folder, or a link in the path belongs to another user. Root
 * and the owner of this program are trusted.
 */
export async function ensurePrivateDirectory(
  directory: string,
  { mayBeLink = false }: { readonly mayBeLink?: boolean } = {},
): Promise<string> {
  if (!mayBeLink && (await isLink(directory)))
    throw notTrusted(directory, 'is a symbolic link; put a folder in its place');
  const path = await resolveTrusted(directory);
  await mkdir(path, { recursive: true, mode: 0o700 });
  const found = await lstat(path);
  const own = process.geteuid?.();
  if (!found.isDirectory()) throw notTrusted(directory, 'is a symbolic link; put a folder in its place');
  if (found.uid !== own)
    throw notTrusted(
      directory,
      `belongs to user ${found.uid}, not to user ${own} who runs this; run as that user`,
    );
  if ((found.mode & 0o022) !== 0)
    throw notTrusted(directory, `can be written by others; run: chmod go-w '${directory}'`);
  return path;
}

/** Resolves all links of a path; parts that do not exist stay unchanged. */
async function resolveTrusted(directory: string): Promise<string> {
  const trusted = trustedOwners();
  const segments = directory.split('/');
  let at = '/';
  let links = 0;
  for (let name = segments.shift(); name !== undefined; name = segments.shift()) {
    if (name === '') continue;
    const next = join(at, name);
    const found = await entryAt(next);
    if (found === undefined) return join(next, ...segments);
    if (found.isSymbolicLink()) {
      if (!trusted.has(found.uid))
        throw notTrusted(
          directory,
          `is reached by '${next}', a symbolic link of user ${found.uid}; remove that`,
        );
      if (++links > maxLinks) throw notTrusted(directory, `is reached by links that go round, as '${next}'`);
      const target = await readlink(next);
      segments.unshift(...target.split('/'));
      if (isAbsolute(target)) at = '/';
      continue;
    }
    // the caller checks the last segment more strictly
    if (segments.some((segment) => segment !== ''))
      assertNotWritableByOthers(directory, next, found, trusted);
    at = next;
  }
  return at;
}

/**
 * Throws if others can write in the folder. In a sticky folder (/tmp) no user can move another user's
 * entries.
 */
function assertNotWritableByOthers(
  directory: string,
  above: string,
  { uid, gid, mode }: Stats,
  trusted: Set<number>,
): void {
  if (!trusted.has(uid))
    throw notTrusted(
      directory,
      `is in '${above}', which belongs to user ${uid}; choose a folder of your own`,
    );
  const isSticky = (mode & 0o1000) !== 0;
  const byOthers = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== process.getegid?.() && gid !== 0);
  if (byOthers && !isSticky)
    throw notTrusted(directory, `is in '${above}', which others can write; run: chmod go-w '${above}'`);
}

/**
 * Returns the trusted owners. The owner of this program could have changed it. In a user namespace all
 * unmapped ids show as one id.
 */
function trustedOwners(): Set<number> {
  const program = statSync(process.argv[1] ?? process.execPath).uid;
  const unmapped = Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8'));
  const isFullIdMap = /^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'utf8'));
  return new Set([process.geteuid?.() ?? 0, 0, program, ...(isFullIdMap ? [] : [unmapped])]);
}

const isLink = async (path: string): Promise<boolean> => (await entryAt(path))?.isSymbolicLink() === true;

async function entryAt(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function notTrusted(directory: string, why: string): ProductError {
  return new ProductError('FILE_NOT_TRUSTED', `Folder '${directory}' was not used: it ${why}`);
}
