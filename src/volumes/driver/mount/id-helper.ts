import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, open, stat, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { containerUid } from './mount-command.ts';
import { MountError } from './mount-error.ts';
import type { IdMapping } from './mount-order.ts';
import { cannotStart, killGroup } from './run-program.ts';

export interface IdMapperOptions {
  readonly ids: IdMapping;
  readonly source: string;
  readonly target: string;
  readonly readOnly: boolean;
  readonly searchPath: string;
  /** mapfs in place of bindfs. */
  readonly mapfsPath: string | undefined;
  readonly isMounted: () => Promise<boolean>;
  /** Aborted at the deadline. */
  readonly signal: AbortSignal;
}

const stderrLimit = 4096;

/**
 * Starts the program that shows `source` at `target` under other ids, and returns when that is mounted, else
 * with what the program said. It outlives this process, as the containers that use it do. Its output is a
 * file without a name: a pipe would break when this process ends.
 */
export async function startIdMapper(
  start: IdMapperOptions,
): Promise<{ stderr: string; wasKilled: boolean } | undefined> {
  if (start.mapfsPath === undefined) {
    await ensureFuseAccess();
    // bindfs looks as the mapped user whether the folder is empty
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
        if (!state.ended && child.pid !== undefined) killGroup(child.pid);
        return { stderr: await truncate(output), wasKilled: !state.ended };
      }
      await pause(10);
    }
    return undefined;
  } finally {
    await output.close();
  }
}

/** What the process of a helper is called. */
export const idMapperPrograms: readonly string[] = ['setpriv', 'bindfs', 'mapfs'];
const capabilities = '+sys_admin';

/**
 * bindfs runs under the mapped ids, since a server with root_squash takes root for nobody, and mounts
 * (sys_admin). It finds files by their paths: whoever else has the share can put a link in the place of a
 * folder, so it must have no right to files of this machine (no dac_override). All that the kernel lets it
 * serve is checked for the container's id, as bindfs sets default_permissions.
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

/** bindfs opens /dev/fuse as the mapped user; udev lets every user do so. */
async function ensureFuseAccess(): Promise<void> {
  const found = await stat('/dev/fuse').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found !== undefined && (found.mode & 0o006) === 0o006) return;
  throw new MountError(
    'HELPER_FAILED',
    `Ids cannot be mapped: /dev/fuse is ${found === undefined ? 'missing' : 'closed to users other than root'}; on this machine run: modprobe fuse && chmod 666 /dev/fuse`,
  );
}

/** A file that nobody else can open, and that is gone when it is closed. */
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
