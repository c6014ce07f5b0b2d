import { spawn, type ChildProcess } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, identifyProcess, isOwn, type ProcessIdentity } from '../../platform/process-identity.ts';
import { removeDurably, writeDurably } from '../../deploy/durable-file.ts';
import { ProductError } from '../../errors/product-error.ts';
import { takeFileLock, type FileLock } from '../../platform/file-lock.ts';
import { stdioWithoutInheritedFds } from '../../platform/inherited-descriptors.ts';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import { parsePathSegment } from '../../platform/path-segment.ts';
import { readRegularFile } from '../../platform/read-file.ts';
import { mainModulePath } from '../installation.ts';
import type { CommandContext } from '../command.ts';
import type { Field } from '../../platform/field.ts';
import { readOwnJson } from '../../platform/read-own-json.ts';

/** Exit code of a tunnel if another tunnel of the same director runs. */
const exitAlreadyRunning = 75;
const startDeadlineMs = 60_000;
const stopDeadlineMs = 15_000;
const pauseMs = 50;
/** A longer log is truncated at the next start. */
const maxLogBytes = 1024 * 1024;

const logPath = (directory: string): string => join(directory, 'tunnel.log');

/**
 * Returns the port of the background tunnel of a director's directory. Starts the tunnel if none runs; it
 * outlives this process and its terminal. Rejects with TUNNEL_NOT_STARTED, which quotes the end of the log,
 * and with FILE_NOT_TRUSTED if other users can write to the directory.
 */
export async function ensureDetachedTunnel(
  directorDirectory: string,
  { installation, environment, signal }: Pick<CommandContext, 'installation' | 'environment' | 'signal'>,
): Promise<number> {
  const directory = await ensurePrivateDirectory(directorDirectory);
  const running = await runningTunnel(directory);
  if (running !== undefined) return running.port;
  const child = await launch(
    directory,
    [
      installation.nodeBinary,
      ...[mainModulePath(installation.root), 'tunnel', '--detached', '--directory', directory],
    ],
    environment,
  );
  for (const end = Date.now() + startDeadlineMs; Date.now() < end && !signal.aborted; await sleep(pauseMs)) {
    const started = await runningTunnel(directory);
    if (started !== undefined) return started.port;
    const hasFailed = child.signalCode !== null || ![null, exitAlreadyRunning].includes(child.exitCode);
    if (hasFailed) throw await notStarted(directory, 'it ended');
  }
  child.kill('SIGTERM');
  throw await notStarted(
    directory,
    signal.aborted ? 'it was interrupted' : `not within ${startDeadlineMs / 1000} s`,
  );
}

async function launch(
  directory: string,
  [program = '', ...args]: readonly string[],
  environment: CommandContext['environment'],
): Promise<ChildProcess> {
  const log = await openLog(directory);
  const empty = await open('/dev/null', 'r+');
  try {
    const child = spawn(program, args, {
      // In its own session the tunnel receives neither the terminal's Ctrl-C nor its hangup.
      detached: true,
      cwd: directory,
      // Do not pass on descriptors that a shell handed down: one may be a lock.
      stdio: stdioWithoutInheritedFds<'ignore' | number>(['ignore', log.fd, log.fd], empty.fd),
      env: { ...environment },
    });
    child.unref();
    return child;
  } finally {
    await log.close();
    await empty.close();
  }
}

async function openLog(directory: string): Promise<FileHandle> {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const log = await open(logPath(directory), O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  if ((await log.stat()).size > maxLogBytes) await log.truncate();
  return log;
}

async function notStarted(directory: string, why: string): Promise<ProductError> {
  const lines = ((await readRegularFile(logPath(directory))) ?? '').trim().split('\n').slice(-3);
  const message = `The tunnel of '${directory}' did not start: ${why}. The end of '${logPath(directory)}':\n${lines.join('\n')}`;
  return new ProductError('TUNNEL_NOT_STARTED', message);
}

/**
 * Runs `action` as the only background tunnel of a directory. `action` calls back with its port once it
 * listens. Returns the exit code. Uses a kernel lock, which is released automatically if the process is
 * killed.
 */
export async function asDetachedTunnel(
  directorDirectory: string,
  { installation }: Pick<CommandContext, 'installation'>,
  action: (listening: (port: number) => Promise<void>) => Promise<number>,
): Promise<number> {
  const directory = await ensurePrivateDirectory(directorDirectory);
  const lock = await takeTunnelLock(directory, installation.workspace);
  if (lock === undefined) return exitAlreadyRunning;
  try {
    const code = await action((port) => recordTunnel(directory, port));
    await removeTunnelRecord(directory);
    return code;
  } finally {
    lock.release();
  }
}

async function takeTunnelLock(directory: string, workspace: string): Promise<FileLock | undefined> {
  const name = parsePathSegment(`tunnel-${createHash('sha256').update(directory).digest('hex')}`);
  if (name === undefined) throw new Error('a digest is a path segment');
  return takeFileLock(join(await ensurePrivateDirectory(workspace, { mayBeLink: true }), 'locks'), name);
}

/** Stops the background tunnel and all its connections. Prints a message if none runs. */
export async function stopDetachedTunnel(
  directory: string,
  { terminal }: Pick<CommandContext, 'terminal'>,
): Promise<number> {
  const running = await runningTunnel(directory);
  if (running === undefined) {
    terminal.out(`No tunnel of '${directory}' runs in the background.\n`);
    return 0;
  }
  process.kill(running.pid, 'SIGTERM');
  for (const end = Date.now() + stopDeadlineMs; isAlive(running); await sleep(pauseMs))
    if (Date.now() > end)
      throw new ProductError(
        'DEADLINE',
        `The tunnel of '${directory}' (process ${running.pid}) has not exited within ${stopDeadlineMs / 1000} s; kill it with: kill -9 ${running.pid}`,
      );
  terminal.out(`The tunnel of '${directory}' has stopped.\n`);
  return 0;
}

/** The content of tunnel.json in a director's directory: the tunnel that runs in the background for it. */
export interface TunnelRecord extends ProcessIdentity {
  readonly port: number;
}

const tunnelFilePath = (directory: string): string => join(directory, 'tunnel.json');

/** Returns the running tunnel, or undefined if none runs, even if a killed one left a record. */
export async function runningTunnel(directory: string): Promise<TunnelRecord | undefined> {
  const path = tunnelFilePath(directory);
  const record = await readOwnJson(path, parseTunnelRecord, (problem, cause) => {
    const message = `File '${path}' is not what the tunnel wrote: ${problem}; remove it if no tunnel of that folder runs`;
    return new ProductError('DIRECTORY_INVALID', message, { cause });
  });
  return record !== undefined && isAlive(record) && isOwn(record) ? record : undefined;
}

/** Records this process as the directory's tunnel. */
export async function recordTunnel(directory: string, port: number): Promise<void> {
  const own = identifyProcess(process.pid) ?? { pid: process.pid, started: '' };
  const record: TunnelRecord = { ...own, port };
  await writeDurably(tunnelFilePath(directory), `${JSON.stringify(record)}\n`);
}

export async function removeTunnelRecord(directory: string): Promise<void> {
  await removeDurably(tunnelFilePath(directory));
}

const parseTunnelRecord = (file: Field): TunnelRecord => ({
  // Process 1 is never a tunnel, and a negative number is a process group.
  pid: file.get('pid').integer({ min: 2, max: Number.MAX_SAFE_INTEGER }),
  started: file.get('started').string(),
  port: file.get('port').integer({ min: 1, max: 65_535 }),
});
