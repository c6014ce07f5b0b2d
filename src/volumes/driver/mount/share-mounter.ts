import { lstat, mkdir, realpath, rmdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { readMountTable } from '../../../platform/mountinfo.ts';
import { addressesOfHost } from './addresses-of-host.ts';
import { helperFailure, MountError, mountFailure } from './mount-error.ts';
import { idMapperPrograms, startIdMapper } from './id-mapper.ts';
import {
  killProcessesByArgument,
  mountPrograms,
  type MountProgramResult,
  type ProgramRun,
  runMountProgram,
} from './run-program.ts';
import {
  type IdMapping,
  mountCommand,
  type MountSpec,
  type NfsMountSpec,
  type SmbMountSpec,
  utf8,
} from './mount-command.ts';
import type { Mounter, MountHealth } from './mounter.ts';
import { NfsMounter, type NfsMounterPorts, rootPathOf, shareOf } from './nfs-mounter.ts';

export interface ShareMounterOptions {
  /** The search path for mount, umount, stat, setpriv and bindfs. */
  readonly searchPath?: string;
  /** The path of mapfs. Without it, bindfs maps ids. */
  readonly mapfsPath?: string;
  /** Timeout of one mount in seconds. */
  readonly mountSeconds?: number;
  /** Timeout of each step of an unmount in seconds. */
  readonly unmountSeconds?: number;
  /** Gets what the operator should know about a mount that succeeded. */
  readonly note?: (text: string) => void;
  /** Groups of addresses of NFS servers. The addresses of a group belong to one server. */
  readonly sameServers?: readonly (readonly string[])[];
  /** Resolves the host of an NFS server. Without it, the machine's resolver is used. */
  readonly resolve?: NfsMounterPorts['resolve'];
  /** Returns the mounts of this machine. Without it, /proc/self/mountinfo is read. */
  readonly entries?: NfsMounterPorts['entries'];
}

const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** ELIBACC: the kernel has no table for the character set. */
const lacksUtf8 = /mount error\(79\)/u;
/** The suffix of the kernel's mount, beside the target, if the ids of a share are mapped. */
const rawMountSuffix = '_mapfs';

/** Mounts shares of NFS and SMB with mount(8), and maps ids of NFS with bindfs or mapfs. Needs root. */
export class ShareMounter implements Mounter {
  readonly #searchPath: string;
  readonly #mapfsPath: string | undefined;
  readonly #mountSeconds: number;
  readonly #unmountSeconds: number;
  readonly #note: (text: string) => void;
  readonly #nfs: NfsMounter;

  constructor(options: ShareMounterOptions = {}) {
    this.#searchPath = options.searchPath ?? systemPath;
    this.#mapfsPath = options.mapfsPath;
    this.#mountSeconds = options.mountSeconds ?? 30;
    this.#unmountSeconds = options.unmountSeconds ?? 5;
    this.#note = options.note ?? (() => undefined);
    this.#nfs = new NfsMounter({
      run: (program, args, signal, outputLimit) => this.#run(program, args, signal, { outputLimit }),
      entries: options.entries ?? readMountTable,
      makeDirectory: recreateEmptyDirectory,
      detach: (path) => this.#detachRoot(path),
      resolve:
        options.resolve ??
        ((host, signal) =>
          addressesOfHost(host, (program, args, outputLimit) =>
            this.#run(program, args, signal, { outputLimit }),
          )),
      sameServers: options.sameServers ?? [],
    });
  }

  async mount(spec: MountSpec, target: string, signal: AbortSignal): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(this.#mountSeconds * 1000)]);
    const path = await checkTarget(target);
    if (spec.kind === 'smb') return this.#mountSmb(spec, path, deadline);
    if (spec.ids === undefined) return this.#nfs.mount(spec, path, deadline);
    const kernelPath = path + rawMountSuffix;
    await recreateEmptyDirectory(kernelPath);
    await this.#nfs.mount(spec, kernelPath, deadline);
    // The id mapper opens files by path. Other clients of the share can replace a directory by a symbolic
    // link to a file of this machine. So the kernel's mount does not follow links. Apps still follow links,
    // which are resolved in their own mount.
    await this.#nfs.remount(kernelPath, spec, 'nosymfollow', deadline);
    await this.#mapIds(spec, spec.ids, path, deadline);
  }

  async unmount(target: string, signal: AbortSignal): Promise<void> {
    const path = await resolvedPath(target);
    const kernelPath = path + rawMountSuffix;
    const roots = [path, kernelPath].map(rootPathOf);
    const entries = (await readMountTable()).filter((entry) => [path, kernelPath].includes(entry.target));
    // a killed driver may have left programs that still mount
    if (entries.length === 0)
      await killProcessesByArgument([...mountPrograms, ...idMapperPrograms], [path, kernelPath, ...roots]);
    for (const root of roots) {
      await this.#detachRoot(root);
      await rmdir(root).catch(noop('ENOENT'));
    }
    await this.#unmountAll(path, signal);
    const hasHelper = entries.some(({ target: at, type }) => at === kernelPath || type.startsWith('fuse'));
    if (hasHelper) await killProcessesByArgument(idMapperPrograms, [path]);
    await this.#unmountAll(kernelPath, signal);
    await rmdir(kernelPath).catch(noop('ENOENT'));
  }

  async probe(target: string, deadlineSeconds: number): Promise<MountHealth> {
    const path = await resolvedPath(target);
    const targets = await mountTargets();
    if (!targets.includes(path)) return targets.includes(path + rawMountSuffix) ? 'stale' : 'absent';
    return (await this.#isResponsive(path, AbortSignal.timeout(deadlineSeconds * 1000)))
      ? 'answers'
      : 'stale';
  }

  async listMounts(directory: string): Promise<readonly string[]> {
    const path = await realpath(directory);
    const names = (await mountTargets())
      .filter((target) => dirname(target) === path)
      .map((target) => basename(target).replace(/_mapfs$/u, ''));
    return [...new Set(names)].map((name) => join(directory, name));
  }

  async #mountSmb(spec: SmbMountSpec, path: string, signal: AbortSignal): Promise<void> {
    const { args, password } = mountCommand(spec, path);
    const secret = password === undefined ? undefined : { text: password, environment: { PASSWD_FD: '3' } };
    let result = await this.#run('mount', args, signal, { secret });
    if (result.exitCode !== 0 && lacksUtf8.test(result.stderr)) {
      const others = args.map((each) => each.replace(`,${utf8}`, ''));
      result = await this.#run('mount', others, signal, { secret });
      if (result.exitCode === 0)
        this.#note(
          `${spec.share} was mounted without ${utf8}: the kernel has no module nls_utf8, so letters outside ASCII may be garbled in file names; load it (modprobe nls_utf8)`,
        );
    }
    const secrets = password === undefined ? [] : [password];
    const lacksDomain = spec.domain === undefined;
    if (result.exitCode !== 0) throw mountFailure({ ...result, share: spec.share, secrets, lacksDomain });
  }

  async #mapIds(spec: NfsMountSpec, ids: IdMapping, path: string, signal: AbortSignal): Promise<void> {
    const failure = await startIdMapper({
      ids,
      source: path + rawMountSuffix,
      target: path,
      readOnly: spec.readOnly,
      searchPath: this.#searchPath,
      mapfsPath: this.#mapfsPath,
      isMounted: async () => (await mountTargets()).includes(path),
      signal,
    });
    if (failure !== undefined) throw helperFailure({ ...failure, share: shareOf(spec), secrets: [] });
    if (!(await this.#isResponsive(path, signal)))
      throw helperFailure({ stderr: '', wasKilled: signal.aborted, share: shareOf(spec), secrets: [] });
  }

  /** Detaches every mount at `path`; one may hide another. */
  async #unmountAll(path: string, signal: AbortSignal): Promise<void> {
    const mounts = async (): Promise<number> =>
      (await mountTargets()).filter((target) => target === path).length;
    for (let before = await mounts(); before > 0; before = await mounts()) {
      const plain = await this.#umount(path, [], signal);
      if ((await mounts()) < before) continue;
      // `umount -f` frees processes that wait for a server, but fails the writes of processes that do not
      const isInUse =
        plain.stderr.includes('busy') && (await this.#isResponsive(path, this.#stepDeadline(signal)));
      if (!isInUse) {
        await this.#umount(path, ['-f'], signal);
        if ((await mounts()) < before) continue;
      }
      const lazy = await this.#umount(path, ['-l'], signal);
      if ((await mounts()) < before) continue;
      throw new MountError(
        lazy.wasKilled ? 'TIMED_OUT' : 'BUSY',
        `'${path}' is still mounted: umount -l failed (${lazy.stderr.trim().slice(0, 300)}); restart this machine if that does not change`,
      );
    }
  }

  /** Unmounts the root of a server, with the mounts that the kernel added below it. */
  async #detachRoot(path: string): Promise<void> {
    const isMounted = async (): Promise<boolean> => (await mountTargets()).includes(path);
    if (!(await isMounted())) return;
    const { stderr } = await this.#umount(path, ['-l'], new AbortController().signal);
    if (await isMounted())
      throw new MountError(
        'BUSY',
        `'${path}' is still mounted: umount -l failed (${stderr.trim().slice(0, 300)})`,
      );
  }

  /** Runs umount without access to the path and without umount.nfs, which would wait for a dead server. */
  #umount(path: string, how: readonly string[], signal: AbortSignal): Promise<MountProgramResult> {
    return this.#run('umount', ['-i', '-c', ...how, '--', path], this.#stepDeadline(signal));
  }

  #stepDeadline(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, AbortSignal.timeout(this.#unmountSeconds * 1000)]);
  }

  /** Returns true if the server responds. statfs(2) is not answered from a cache. */
  async #isResponsive(path: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#run('stat', ['-f', '--', path], signal)).exitCode === 0;
  }

  #run(
    program: string,
    args: readonly string[],
    signal: AbortSignal,
    more: Pick<ProgramRun, 'secret' | 'outputLimit'> = {},
  ): Promise<MountProgramResult> {
    return runMountProgram({ program, args, searchPath: this.#searchPath, signal, ...more });
  }
}

const mountTargets = async (): Promise<readonly string[]> =>
  (await readMountTable()).map(({ target }) => target);

/**
 * Returns the path as mountinfo has it. Accesses only the parent directory, because access to a dead mount
 * may hang.
 */
async function resolvedPath(target: string): Promise<string> {
  return join(await realpath(dirname(target)), basename(target));
}

/**
 * Returns the path of a free target. Rejects if others than root could replace it while root mounts there.
 */
async function checkTarget(target: string): Promise<string> {
  const path = await resolvedPath(target);
  const directory = dirname(path);
  const { uid, mode } = await lstat(directory);
  if (uid !== 0 || (mode & 0o022) !== 0)
    throw new MountError(
      'FAILED',
      `Nothing was mounted below '${directory}', which others than root can write; run: chown root '${directory}' && chmod go-w '${directory}'`,
    );
  if (path.endsWith(rawMountSuffix))
    throw new MountError(
      'INVALID_OPTION',
      `The name '${basename(path)}' ends in ${rawMountSuffix}; choose another`,
    );
  const parts = [path, path + rawMountSuffix];
  if ((await mountTargets()).some((other) => [...parts, ...parts.map(rootPathOf)].includes(other)))
    throw new MountError('BUSY', `'${path}' is mounted already; unmount it first`);
  return path;
}

/**
 * Creates an empty directory, replacing an empty one that an unmount left. Rejects if there is a link or a
 * directory with content, which may belong to another user.
 */
async function recreateEmptyDirectory(path: string): Promise<void> {
  try {
    await rmdir(path).catch(noop('ENOENT'));
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    throw new MountError(
      'FAILED',
      `'${path}' must be an empty folder, or not exist, before the mount; look at it and remove it`,
      {
        cause: error,
      },
    );
  }
}

const noop =
  (code: string) =>
  (error: NodeJS.ErrnoException): void => {
    if (error.code !== code) throw error;
  };
