import { constants } from 'node:fs';
import type { Stats } from 'node:fs';
import { lstat, mkdir, open, readdir, readlink, rmdir, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { errorCode } from './error-code.ts';

const { O_APPEND, O_CREAT, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;
const fileFlags = { read: O_RDONLY, append: O_WRONLY | O_APPEND | O_CREAT };
// The errors of open(2) for a link, a pipe, a socket or a directory instead of a plain file.
const wrongKindCodes = new Set(['ELOOP', 'ENXIO', 'EISDIR', 'ENOTDIR', 'ENODEV']);
const linkLimit = 40;

/** The name of an entry. A name that is not valid UTF-8 is a Buffer. */
type EntryName = string | Buffer;

/**
 * An open directory. Each method names one entry and follows no link, so all of them apply to this directory,
 * even if another user renames or replaces its parents. (Node has no openat; a path below /proc/self/fd/N has
 * the same effect.) The methods throw AGENT_PATH_UNSAFE if an entry has an unexpected type, and pass ENOENT
 * on.
 */
export class DirectoryHandle {
  /** The path when the directory was opened, for messages. */
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #isOnlyRoots: boolean;

  private constructor(path: string, handle: FileHandle, isOwnedOnlyByRoot: boolean) {
    this.path = path;
    this.#handle = handle;
    this.#isOnlyRoots = isOwnedOnlyByRoot;
  }

  /**
   * Opens a directory by its absolute path, component by component. Follows a link only if no user but root
   * can have created it, as with /var/vcap/sys and /var/run.
   */
  static async open(path: string): Promise<DirectoryHandle> {
    let rest = componentsOf(path);
    let openDirectory = await DirectoryHandle.#root();
    for (let links = 0; ;) {
      const name = rest.shift();
      if (name === undefined) return openDirectory;
      const previous = openDirectory;
      try {
        const target = await previous.#trustedLink(name);
        if (target === undefined) openDirectory = await previous.directory(name);
        else {
          if (++links > linkLimit) throw unsafePathError(path, 'has too many links on its way');
          rest = [...componentsOf(resolve(previous.path, target)), ...rest];
          openDirectory = await DirectoryHandle.#root();
        }
      } finally {
        await previous.close();
      }
    }
  }

  /** A path of this directory that is valid while the handle is open, even if its parents are renamed. */
  get descriptorPath(): string {
    return `/proc/self/fd/${this.#handle.fd}`;
  }

  /**
   * Returns true if only root (or the agent's own user) can have put this entry here or can have changed the
   * path to it.
   */
  async isOnlyRoots(entry: Stats): Promise<boolean> {
    if (!this.#isOnlyRoots) return false;
    const own = await this.#handle.stat();
    if (!isRoots(own)) return false;
    if ((own.mode & 0o022) === 0) return true;
    // A sticky directory as /tmp: others cannot replace an entry of root, but they can move files of root
    // there or hard-link them, so only directories are trusted.
    return (own.mode & 0o1000) !== 0 && isRoots(entry) && entry.isDirectory();
  }

  /** Opens a directory in this one. */
  async directory(name: EntryName): Promise<DirectoryHandle> {
    const handle = await this.#open(name, O_RDONLY | O_DIRECTORY);
    try {
      return new DirectoryHandle(
        resolve(this.path, name.toString()),
        handle,
        await this.isOnlyRoots(await handle.stat()),
      );
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Creates a directory in this one. Returns false if the entry exists already. */
  async makeDirectory(name: string, mode: number): Promise<boolean> {
    try {
      await mkdir(this.#pathOf(name), { mode });
      return true;
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false;
      throw error;
    }
  }

  /**
   * Opens a plain file. With `append`, creates it if it does not exist. Throws AGENT_PATH_UNSAFE if the file
   * has a second hard link.
   */
  async openFile(name: EntryName, use: keyof typeof fileFlags, mode = 0o640): Promise<FileHandle> {
    // O_NONBLOCK: opening a pipe must not wait for its other end.
    const file = await this.#open(name, fileFlags[use] | O_NONBLOCK, mode);
    const stats = await file.stat();
    const problem = !stats.isFile()
      ? 'is not a plain file'
      : stats.nlink > 1
        ? 'has a second hard link'
        : undefined;
    if (problem === undefined) return file;
    await file.close();
    throw unsafePathError(resolve(this.path, name.toString()), problem);
  }

  /** Returns the names of all entries. */
  names(): Promise<readonly Buffer[]> {
    return readdir(this.descriptorPath, { encoding: 'buffer' });
  }

  /**
   * Returns the stats of an entry. They may change before the entry is opened, so opening it decides about
   * its type.
   */
  stat(name: EntryName): Promise<Stats> {
    return lstat(this.#pathOf(name));
  }

  /** Removes an entry, with all its content if it is a directory. Does nothing if there is no such entry. */
  async remove(name: EntryName): Promise<void> {
    const path = this.#pathOf(name);
    try {
      return await unlink(path);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return;
      if (errorCode(error) !== 'EISDIR') throw error;
    }
    const directory = await this.directory(name);
    try {
      for (const entry of await directory.names()) await directory.remove(entry);
    } finally {
      await directory.close();
    }
    await rmdir(path);
  }

  /**
   * Makes root the owner of the directory itself, and sets this group and mode. Changes only values that
   * differ.
   */
  async chownToRoot(group: number | undefined, mode: number): Promise<void> {
    await this.chown(process.geteuid?.() === 0 ? 0 : undefined, group, mode);
  }

  /**
   * Sets the owner, group and mode of the directory itself if they are given. Changes only values that
   * differ.
   */
  async chown(userId: number | undefined, groupId: number | undefined, mode?: number): Promise<void> {
    const stats = await this.#handle.stat();
    const [owner, group] = [userId ?? stats.uid, groupId ?? stats.gid];
    if (stats.uid !== owner || stats.gid !== group) await this.#handle.chown(owner, group);
    if (mode !== undefined && (stats.mode & 0o7777) !== mode) await this.#handle.chmod(mode);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  static async #root(): Promise<DirectoryHandle> {
    return new DirectoryHandle('/', await open('/', O_RDONLY | O_DIRECTORY), true);
  }

  async #open(name: EntryName, flags: number, mode?: number): Promise<FileHandle> {
    try {
      return await open(this.#pathOf(name), flags | O_NOFOLLOW, mode);
    } catch (error) {
      if (!wrongKindCodes.has(errorCode(error) ?? '')) throw error;
      const expected = (flags & O_DIRECTORY) === 0 ? 'plain file' : 'directory';
      throw unsafePathError(
        resolve(this.path, name.toString()),
        `is not a ${expected} but a link or something else`,
      );
    }
  }

  async #trustedLink(name: string): Promise<string | undefined> {
    const path = this.#pathOf(name);
    let target: string;
    try {
      target = await readlink(path);
    } catch (error) {
      // EINVAL: it is not a link. ENOENT: opening the entry will report it.
      if (errorCode(error) === 'EINVAL' || errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
    return (await this.isOnlyRoots(await lstat(path))) ? target : undefined;
  }

  #pathOf(name: EntryName): string | Buffer {
    const text = name.toString();
    if (text === '' || text === '.' || text === '..' || text.includes('/')) {
      throw new Error(`'${text}' is not the name of an entry`);
    }
    const directory = `${this.descriptorPath}/`;
    return typeof name === 'string' ? `${directory}${name}` : Buffer.concat([Buffer.from(directory), name]);
  }
}

/** Opens a plain file by its absolute path, each component as {@link DirectoryHandle} does. */
export async function openPlainFile(path: string, use: keyof typeof fileFlags): Promise<FileHandle> {
  await using directory = await DirectoryHandle.open(dirname(path));
  return await directory.openFile(basename(path), use);
}

/**
 * Removes the entry at an absolute path with all its content. Follows no link. Does nothing if there is no
 * such entry.
 */
export async function removeTree(path: string): Promise<void> {
  try {
    await using directory = await DirectoryHandle.open(dirname(path));
    await directory.remove(basename(path));
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

function componentsOf(path: string): string[] {
  return resolve(path)
    .split('/')
    .filter((name) => name !== '');
}

function isRoots({ uid }: Stats): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

function unsafePathError(path: string, problem: string): ProductError {
  return new ProductError(
    'AGENT_PATH_UNSAFE',
    `${path} ${problem}: a job user may have put it there; remove it and try again`,
  );
}
