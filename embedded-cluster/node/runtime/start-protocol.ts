import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { Readable, type Writable } from 'node:stream';
import { keepHead } from '../command.ts';
import type { ContainerExit } from './container-runtime.ts';

export interface StartProtocol {
  /** Called with the first process's pid when all mounts exist. If it throws, the command is not started. */
  readonly check: (pid: number) => Promise<void>;
  readonly deadline: AbortSignal;
}

export interface StartedCommand {
  /** The pid of the container's first process, as the node sees it. */
  readonly pid: number;
  /** Never rejects. */
  readonly exited: Promise<ContainerExit>;
}

/** 128 + n after signal n. */
const signalExitCode = (signal: NodeJS.Signals): ContainerExit => ({
  exitCode: 128 + constants.signals[signal],
});

function statusOf(child: ChildProcess): Readable {
  const status = child.stdio[4];
  if (!(status instanceof Readable)) {
    throw new Error('started without a status pipe');
  }
  return status;
}

/**
 * Returns the exit of a container's first process, once its parent, unshare(1), has ended and all its pipes
 * are closed. unshare ends by the same signal as its child, except that it cannot do so for SIGKILL (2.38):
 * then it prints an error and exits with 1.
 */
function exitOf(child: ChildProcess, complaints: () => string): Promise<ContainerExit> {
  return new Promise((resolve) => {
    child.on('error', () => resolve({ exitCode: 128 }));
    child.on('close', (code, signal) => {
      const complained = complaints().includes('unshare:');
      if (signal !== null || (code === 1 && complained)) {
        resolve(signalExitCode(signal ?? 'SIGKILL'));
      } else {
        resolve({ exitCode: code ?? 128 });
      }
    });
  });
}

/** Returns the exit of an exec's command: container-exec.sh reports it, or was killed. Never rejects. */
export async function execExit(child: ChildProcess): Promise<ContainerExit> {
  const exit = new Promise<number>((resolve) => {
    child.on('exit', (code) => resolve(code ?? 128));
    child.on('error', () => resolve(128));
  });
  let reported: number | undefined;
  for await (const line of shortLines(statusOf(child))) {
    const [, code] = /^exit (\d{1,3})$/.exec(line) ?? [];
    reported = code === undefined ? reported : Number(code);
  }
  const code = await exit;
  // Exit codes 126 and 127 before the command ran: the container's root or a program of the runtime is
  // missing.
  const known = reported ?? (code === 126 || code === 127 ? code : undefined);
  return known === undefined ? signalExitCode('SIGKILL') : { exitCode: known };
}

/**
 * Follows stage.sh and container-init.sh until the command is started. If it is not, rejects with their
 * output after every process has ended.
 */
export async function awaitStart(child: ChildProcess, protocol: StartProtocol): Promise<StartedCommand> {
  const printed = keepHead(child.stderr);
  const reasons: string[] = [];
  const complaints = (): string => [printed(), ...reasons].join('\n');
  const exited = exitOf(child, complaints);
  child.on('error', (error) => reasons.push(error.message));
  const status = statusOf(child);
  const onDeadline = (): void => {
    reasons.push('the container did not start in time');
    child.kill('SIGKILL');
  };
  protocol.deadline.addEventListener('abort', onDeadline, { once: true });
  try {
    const pid = await followStages(child.stdin, shortLines(status), protocol.check);
    if (pid !== undefined) {
      return { pid, exited };
    }
  } catch (error) {
    child.kill('SIGKILL');
    status.resume();
    await exited;
    throw error;
  } finally {
    // A pod with the node's pids may still write to it.
    status.resume();
    protocol.deadline.removeEventListener('abort', onDeadline);
  }
  await exited;
  throw new Error(lastLine(complaints()) || 'the container ended before its command was started');
}

async function followStages(
  word: Writable | null,
  lines: AsyncIterable<string>,
  check: StartProtocol['check'],
): Promise<number | undefined> {
  // The stage may end before it reads; its stderr has the reason.
  word?.on('error', () => undefined);
  let pid = 0;
  for await (const line of lines) {
    if (line.startsWith('pid ')) {
      pid = Number(line.slice('pid '.length));
    } else if (line === 'mounted') {
      await check(pid);
      word?.end('go\n');
    } else if (line === 'started') {
      return pid;
    }
  }
  return undefined;
}

const lastLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('dmesg(1)'))
    .join('; ');

/** All lines that the runtime's scripts write are shorter than this. */
const maxLength = 100;

/**
 * Reads the lines of a status pipe. Root of a pod may write to it, too (/proc/PID/fd/4 of container-exec.sh).
 * So a line that is longer than those of the runtime's scripts is skipped, and no more than this length of it
 * is ever kept in memory. The stream stays open at the end of an iteration.
 */
export async function* shortLines(stream: Readable): AsyncGenerator<string> {
  let line = '';
  for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
    const [head = '', ...others] = (chunk as Buffer).toString('latin1').split('\n');
    line = cut(line + head);
    for (const next of others) {
      if (line.length <= maxLength) yield line;
      line = cut(next);
    }
  }
  if (line !== '' && line.length <= maxLength) yield line;
}

const cut = (line: string): string => line.slice(0, maxLength + 1);
