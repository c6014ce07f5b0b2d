import { createHash } from 'node:crypto';
import { rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { MountEntry } from '../../../platform/mountinfo.ts';
import { mountCommand, type NfsMountSpec } from './mount-command.ts';
import { directoryFailure, MountError, mountFailure } from './mount-error.ts';
import { checkNfsMount, isSameAddress, normalisedPath } from './nfs-server-check.ts';
import type { MountProgramResult } from './run-program.ts';

export interface NfsMounterPorts {
  /** Runs a program until it ends or `signal` is aborted. Keeps `outputLimit` bytes of its output. */
  readonly run: (
    program: string,
    args: readonly string[],
    signal: AbortSignal,
    outputLimit?: number,
  ) => Promise<MountProgramResult>;
  /** Returns the mounts of this machine. */
  readonly entries: () => Promise<readonly MountEntry[]>;
  /** Creates an empty directory that only root can enter. */
  readonly makeDirectory: (path: string) => Promise<void>;
  /** Unmounts the mount at a path and all mounts below it. Does nothing if there is no mount. */
  readonly detach: (path: string) => Promise<void>;
  /** Returns all addresses of a host. Each is tried until one can be reached. Throws MountError. */
  readonly resolve: (host: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Groups of addresses. The addresses of a group belong to one server. */
  readonly sameServers: readonly (readonly string[])[];
}

/** A directory, and the server's mount in which its path is resolved. */
interface MountLocation {
  readonly spec: NfsMountSpec;
  readonly address: string;
  readonly serverAddresses: readonly string[];
  /** The path that is mounted first: the root of an NFS 4 server, or an export of an NFS 3 server. */
  readonly root: string;
  /** The path of that mount, which exists only until the directory is bound. */
  readonly rootAt: string;
  readonly at: string;
}

const exportLimit = 4_000_000;

/**
 * Mounts NFS with the kernel's client. Other clients that write to the share can change its path, and both
 * the client of NFS 4 and the mountd of NFS 3 follow links in it. So the root of the server, or an export
 * with NFS 3, is mounted without following links, and the directory below it is bound to the target.
 */
export class NfsMounter {
  readonly #ports: NfsMounterPorts;

  constructor(ports: NfsMounterPorts) {
    this.#ports = ports;
  }

  /** Mounts at `at`. Throws MountError. A mount may then be left at `at`. */
  async mount(spec: NfsMountSpec, at: string, signal: AbortSignal): Promise<void> {
    const addresses = await this.#addressesOf(spec, signal);
    const group = this.#ports.sameServers.filter((each) =>
      each.some((one) => addresses.some((other) => isSameAddress(one, other))),
    );
    const serverAddresses = [...addresses, ...group.flat()];
    for (const [index, address] of addresses.entries()) {
      try {
        return await this.#mountFrom({ spec, address, serverAddresses, at }, signal);
      } catch (error) {
        const isLast = index === addresses.length - 1;
        if (isLast || !(error instanceof MountError && error.code === 'UNREACHABLE')) throw error;
      }
    }
  }

  async #addressesOf(spec: NfsMountSpec, signal: AbortSignal): Promise<readonly string[]> {
    try {
      return await this.#ports.resolve(spec.host, signal);
    } catch (error) {
      if (!(error instanceof MountError)) throw error;
      throw new MountError(error.code, `${shareOf(spec)}: ${error.message}`, { cause: error });
    }
  }

  /**
   * Mounts from one address. Without a version, falls back to version 3 if the server does not offer the
   * share with version 4.
   */
  async #mountFrom(location: Omit<MountLocation, 'root' | 'rootAt'>, signal: AbortSignal): Promise<void> {
    const { spec } = location;
    if (spec.version === '3') return this.#mountVersion3(location, signal);
    try {
      const order4 = { ...spec, version: spec.version ?? '4' } as const;
      return await this.#mountBelow({ ...location, spec: order4, root: '/' }, signal);
    } catch (error) {
      const mayBeOld =
        error instanceof MountError &&
        ['NOT_SUPPORTED', 'NO_SUCH_SHARE', 'ACCESS_DENIED'].includes(error.code);
      if (spec.version !== undefined || !mayBeOld) throw error;
      const isMounted = await this.#mountVersion3(
        { ...location, spec: { ...spec, version: '3' } },
        signal,
      ).then(
        () => true,
        (second: unknown) => {
          if (second instanceof MountError && second.code !== 'LINK_IN_SHARE') return false;
          throw second;
        },
      );
      if (!isMounted) throw error;
    }
  }

  async #mountVersion3(location: Omit<MountLocation, 'root' | 'rootAt'>, signal: AbortSignal): Promise<void> {
    const { spec, address } = location;
    const path = normalisedPath(spec.path);
    const listed = await this.#ports.run(
      'showmount',
      ['--no-headers', '--exports', address],
      signal,
      exportLimit,
    );
    if (listed.exitCode !== 0) throw mountFailure({ ...listed, share: shareOf(spec), secrets: [] });
    const root = exportsIn(listed.stdout)
      .filter((each) => each === '/' || path === each || path.startsWith(`${each}/`))
      .toSorted((one, other) => other.length - one.length)[0];
    if (root === undefined)
      throw new MountError(
        'NO_SUCH_SHARE',
        `${shareOf(spec)}: The server exports no folder of that path to this cell, as 'showmount -e ${address}' shows; check the share's spelling`,
      );
    await this.#mountBelow({ ...location, root }, signal);
  }

  async #mountBelow(location: Omit<MountLocation, 'rootAt'>, signal: AbortSignal): Promise<void> {
    const path = normalisedPath(location.spec.path);
    if (location.root === path) return this.#mountRoot(location, location.at, signal);
    const rootAt = rootPathOf(location.at);
    await this.#ports.makeDirectory(rootAt);
    try {
      await this.#mountRoot(location, rootAt, signal);
      await this.#bind({ ...location, rootAt }, signal);
      await this.#check(location, path, location.at);
    } finally {
      await this.#ports.detach(rootAt);
      await rmdir(rootAt);
    }
  }

  async #mountRoot(location: Omit<MountLocation, 'rootAt'>, at: string, signal: AbortSignal): Promise<void> {
    const { spec, address, root } = location;
    const { args } = mountCommand({ ...spec, host: address, path: root }, at);
    const result = await this.#ports.run('mount', args, signal);
    if (result.exitCode !== 0) throw mountFailure({ ...result, share: shareOf(spec), secrets: [] });
    await this.#check(location, root, at);
  }

  async #bind({ spec, root, rootAt, at }: MountLocation, signal: AbortSignal): Promise<void> {
    const directory = join(rootAt, normalisedPath(spec.path).slice(root.length));
    await this.remount(rootAt, spec, 'nosymfollow', signal);
    const bound = await this.#ports.run('mount', ['-i', '-c', '--bind', '--', directory, at], signal);
    if (bound.exitCode !== 0) throw directoryFailure({ ...bound, share: shareOf(spec), secrets: [] });
    await this.remount(at, spec, 'symfollow', signal);
  }

  /**
   * Sets whether symbolic links are followed in the mount at `at`. It is a remount, because mount.nfs does
   * not know the option.
   */
  async remount(
    at: string,
    { readOnly }: NfsMountSpec,
    links: 'nosymfollow' | 'symfollow',
    signal: AbortSignal,
  ): Promise<void> {
    const options = `remount,bind,nosuid,nodev,${links}${readOnly ? ',ro' : ''}`;
    const { exitCode, stderr } = await this.#ports.run(
      'mount',
      ['-i', '-c', '-o', options, '--', at],
      signal,
    );
    const entry = (await this.#ports.entries()).findLast(({ target }) => target === at);
    const isFollowed = entry?.options.includes('nosymfollow') === false;
    if (exitCode === 0 && isFollowed === (links === 'symfollow')) return;
    throw new MountError(
      'NOT_SUPPORTED',
      `NFS cannot be mounted safely on this machine: that needs Linux 5.10 and util-linux 2.37, for the mount option nosymfollow (${stderr.trim().slice(0, 300)})`,
    );
  }

  async #check(location: Omit<MountLocation, 'rootAt'>, path: string, at: string): Promise<void> {
    const entry = (await this.#ports.entries()).findLast(({ target }) => target === at);
    checkNfsMount({ ...location, share: shareOf(location.spec), path }, entry);
  }
}

/**
 * Returns the path at which the root of a server is mounted until the directory at `at` is bound. No volume
 * has such a name.
 */
export function rootPathOf(at: string): string {
  const name = createHash('sha256').update(basename(at)).digest('hex').slice(0, 32);
  return join(dirname(at), `.root-${name}`);
}

export const shareOf = ({ host, path }: NfsMountSpec): string => `${host}:${path}`;

/**
 * Returns the directories in the output of showmount. A line is a path, spaces, and the clients. A server can
 * make the list long.
 */
export const exportsIn = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => {
    const path = line.slice(0, Math.max(0, line.lastIndexOf(' '))).trimEnd();
    return path.startsWith('/') ? [normalisedPath(path)] : [];
  });
