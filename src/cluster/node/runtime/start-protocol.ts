import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { Readable, Writable } from 'node:stream';
import type { ContainerExit } from './container-runtime.ts';

export interface StartProtocol {
  /** Called with the first process's pid when all mounts stand; throwing keeps the command from being started. */
  readonly check: (pid: number) => Promise<void>;
  readonly deadline: AbortSignal;
}

export interface StartedCommand {
  /** The container's first process, as the node sees it. */
  readonly pid: number;
  /** Never rejects. */
  readonly exited: Promise<ContainerExit>;
}

const killed: ContainerExit = {
  exitCode: 128 + constants.signals.SIGKILL,
  signal: constants.signals.SIGKILL,
};

/** Both scripts say on fd 4 how the command ended; without a word they were killed. */
function exitFrom(code: number | undefined): ContainerExit {
  return code === undefined ? killed : { exitCode: code, signal: undefined };
}

const parseExit = (line: string): number | undefined =>
  line.startsWith('exit ') ? Number(line.slice('exit '.length)) : undefined;

function statusOf(child: ChildProcess): Readable {
  const status = child.stdio[4];
  if (!(status instanceof Readable)) {
    throw new Error('started without a status pipe');
  }
  return status;
}

const closed = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) => {
    child.on('close', () => resolve());
    child.on('error', () => resolve());
  });

/** How the command of an exec ends (container-exec.sh). Never rejects. */
export async function execExit(child: ChildProcess): Promise<ContainerExit> {
  const ended = new Promise<number>((resolve) => {
    child.on('exit', (code) => resolve(code ?? 128));
    child.on('error', () => resolve(128));
  });
  let said: number | undefined;
  for await (const line of createInterface({ input: statusOf(child) })) {
    said = parseExit(line) ?? said;
  }
  const code = await ended;
  // 126 and 127 before the command ran: the container's root or a program of the runtime is missing.
  return exitFrom(said ?? (code === 126 || code === 127 ? code : undefined));
}

/**
 * Follows stage.sh and container-init.sh until the command is started. Rejects, when every process is gone, with
 * what they printed instead.
 */
export async function awaitStart(child: ChildProcess, protocol: StartProtocol): Promise<StartedCommand> {
  const gone = closed(child);
  const complaints: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => complaints.push(chunk.toString()));
  child.on('error', (error) => complaints.push(error.message));
  const lines = createInterface({ input: statusOf(child) })[Symbol.asyncIterator]();
  const onDeadline = (): void => {
    complaints.push('the container did not start in time');
    child.kill('SIGKILL');
  };
  protocol.deadline.addEventListener('abort', onDeadline, { once: true });
  try {
    const pid = await followStages(child.stdin, lines, protocol.check);
    if (pid !== undefined) {
      return { pid, exited: followCommand(lines, gone) };
    }
  } catch (error) {
    child.kill('SIGKILL');
    await gone;
    throw error;
  } finally {
    protocol.deadline.removeEventListener('abort', onDeadline);
  }
  await gone;
  throw new Error(oneLine(complaints.join('')) || 'the container ended before its command was started');
}

async function followStages(
  word: Writable | null,
  lines: AsyncIterator<string>,
  check: StartProtocol['check'],
): Promise<number | undefined> {
  // The stage may end before it reads; why it ended is on its stderr.
  word?.on('error', () => undefined);
  let pid = 0;
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
    if (line.value.startsWith('pid ')) {
      pid = Number(line.value.slice('pid '.length));
    } else if (line.value === 'mounted') {
      await check(pid);
      word?.end('go\n');
    } else if (line.value === 'started') {
      return pid;
    }
  }
  return undefined;
}

async function followCommand(lines: AsyncIterator<string>, gone: Promise<void>): Promise<ContainerExit> {
  let said: number | undefined;
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
    said = parseExit(line.value) ?? said;
  }
  await gone;
  return exitFrom(said);
}

const oneLine = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('dmesg(1)'))
    .join('; ');
