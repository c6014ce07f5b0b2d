import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, type FileHandle, open, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { containerUid, type IdMapping } from './mount-command.ts';
import { MountError } from './mount-error.ts';
import { signalGroup } from '../../../platform/run-program.ts';
import { cannotStart } from './run-program.ts';

interface IdMapperOptions {
  readonly ids: IdMapping;
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  readonly searchPath: string;
  /** The path of mapfs, which is used instead of bindfs. */
  readonly mapfsPath: string | undefined;
  readonly isMounted: () => Promise<boolean>;
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
}

const stderrLimit = 4096;

/**
 * Starts the program that shows `source` at `target` with other ids. Returns undefined when it is mounted,
 * otherwise the program's stderr. The program outlives this process, as the containers that use the mount do.
 * Its output goes to a file without a name, because a pipe would break when this process ends.
 */
export async function startIdMapper(
  start: IdMapperOptions,
): Promise<{ stderr: string; wasKilled: boolean } | undefined> {
  if (start.mapfsPath === undefined) {
    await ensureFuseAccess();
    // bindfs checks as the mapped user whether the directory is empty
    await chmod(start.target, 0o755);
  }
  const [program, ...args] = idMapperCommand(start);
  const output = await openTemporaryFile();
  try {
    const child = spawn(program, args, {
      cwd: '/',
      detached: true,
      env: { PATH: start.searchPath, LC_ALL: 'C' },
      stdio: ['ignore', output.fd, output.fd],
    });
    child.unref();
    const state: { ended: boolean; error?: NodeJS.ErrnoException } = { ended: false };
    child.once('error', (error) => (state.error = error));
    child.once('exit', () => (state.ended = true));
    while (!(await start.isMounted())) {
      if (state.error !== undefined) throw cannotStart(program, state.error);
      if (state.ended || start.signal.aborted) {
        if (!state.ended && child.pid !== undefined) signalGroup(child.pid, 'SIGKILL');
        return { stderr: await truncate(output), wasKilled: !state.ended };
      }
      await pause(10);
    }
    return undefined;
  } finally {
    await output.close();
  }
}

/** The process names of an id mapper. */
export const idMapperPrograms: readonly string[] = ['setpriv', 'bindfs', 'mapfs'];
const capabilities = '+sys_admin';

/**
 * Returns the command of the id mapper. bindfs runs with the mapped ids, because a server with root_squash
 * maps root to nobody; it needs CAP_SYS_ADMIN to mount. It opens files by path, and other clients of the
 * share can replace a directory by a symbolic link. So it must not be able to bypass the file permissions of
 * this machine (no CAP_DAC_OVERRIDE). bindfs sets default_permissions, so the kernel checks each access with
 * the container's ids.
 */
function idMapperCommand(start: IdMapperOptions): [string, ...string[]] {
  const { ids, source, target, readOnly, mapfsPath } = start;
  if (mapfsPath !== undefined) return [mapfsPath, '-uid', `${ids.uid}`, '-gid', `${ids.gid}`, target, source];
  return [
    ...(['setpriv', '--reuid', `${ids.uid}`, '--regid', `${ids.gid}`, '--clear-groups'] as const),
    ...['--inh-caps', capabilities, '--ambient-caps', capabilities, '--bounding-set', `-all,${capabilities}`],
    ...['--no-new-privs', 'bindfs', '-f', '--multithreaded'],
    ...['-o', `allow_other,nosuid,nodev${readOnly ? ',ro' : ''}`],
    ...[`--force-user=${containerUid}`, `--force-group=${containerUid}`, source, target],
  ];
}

/**
 * Rejects if other users cannot open /dev/fuse, because bindfs opens it as the mapped user. udev lets every
 * user open it.
 */
async function ensureFuseAccess(): Promise<void> {
  const stats = await stat('/dev/fuse').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stats !== undefined && (stats.mode & 0o006) === 0o006) return;
  throw new MountError(
    'HELPER_FAILED',
    `Ids cannot be mapped: /dev/fuse is ${stats === undefined ? 'missing' : 'closed to users other than root'}; on this machine run: modprobe fuse && chmod 666 /dev/fuse`,
  );
}

/** Returns a file that no other process can open. It is deleted when it is closed. */
async function openTemporaryFile(): Promise<FileHandle> {
  const path = join(tmpdir(), `volume-helper-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  await unlink(path);
  return file;
}

async function truncate(file: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(stderrLimit), 0, stderrLimit, 0);
  return buffer.toString('utf8', 0, bytesRead);
}
