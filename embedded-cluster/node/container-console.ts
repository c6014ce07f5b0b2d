import type { EventEmitter } from 'node:events';
import { ApiError } from '../../src/kubernetes/client/api-error.ts';
import type { ContainerRunner } from './pods/container-runner.ts';
import type { PodWorker } from './pods/pod-worker.ts';
import { readLog } from './logs/read-log.ts';
import type { ExecRequest, ExecSession, LogRequest, PodConsole } from './pod-console.ts';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ContainerCommand } from './runtime/command-file.ts';
import type { RunningContainer } from './runtime/container-runtime.ts';

function badRequest(message: string): ApiError {
  return new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
    ...{ reason: 'BadRequest', code: 400, message },
  });
}

function notFound(message: string): ApiError {
  return new ApiError({
    ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
    ...{ reason: 'NotFound', code: 404, message },
  });
}

/** Serves logs and exec of the pods that run on this node. */
export class ContainerConsole implements PodConsole {
  readonly #findWorker: (namespace: string, pod: string) => PodWorker | undefined;
  readonly #logChanges: EventEmitter;

  constructor(
    findWorker: (namespace: string, pod: string) => PodWorker | undefined,
    logChanges: EventEmitter,
  ) {
    this.#findWorker = findWorker;
    this.#logChanges = logChanges;
  }

  async *logs(request: LogRequest): AsyncIterable<Uint8Array> {
    const { pod, container, previous, signal } = request;
    const runner = this.#findRunner(request);
    if (previous && runner.container.record.restartCount === 0) {
      throw badRequest(`previous terminated container "${container}" in pod "${pod}" not found`);
    }
    if (!previous && runner.container.record.containerId === undefined) {
      throw badRequest(
        `container "${container}" in pod "${pod}" is waiting to start: ${waitingReason(runner)}`,
      );
    }
    const path = runner.container.logPath(previous);
    const follow = request.follow
      ? {
          changes: this.#logChanges,
          writing: () => runner.running !== undefined && runner.container.logPath() === path,
          signal,
        }
      : undefined;
    try {
      yield* readLog(path, request, follow);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
        throw notFound(`the log of container "${container}" in pod "${pod}" is no longer there`);
      }
      throw error;
    }
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    const { container, command, stdin, tty } = request;
    const runner = this.#findRunner(request);
    const { running } = runner;
    if (running === undefined) {
      throw badRequest(`container ${container} is not running: ${waitingReason(runner)}`);
    }
    if (command.length === 0) {
      throw badRequest('you must specify at least 1 command for the container');
    }
    try {
      const environment = runner.container.environment();
      if (tty) {
        return await openTerminal(running, { command, environment: environment.set('TERM', 'xterm') });
      }
      const process = await running.exec({ command, environment }, { stdin });
      return { ...process, resize: () => undefined };
    } catch (error) {
      throw badRequest(`the command cannot be run in container ${container}: ${(error as Error).message}`);
    }
  }

  #findRunner(request: {
    readonly namespace: string;
    readonly pod: string;
    readonly container: string;
  }): ContainerRunner {
    const worker = this.#findWorker(request.namespace, request.pod);
    if (worker === undefined) {
      throw notFound(`pods "${request.pod}" not found`);
    }
    const runner = worker.runner(request.container);
    if (runner === undefined) {
      const known = worker.containerNames().includes(request.container);
      throw badRequest(
        known
          ? `container "${request.container}" in pod "${request.pod}" is waiting to start: PodInitializing`
          : `container ${request.container} is not valid for pod ${request.pod}`,
      );
    }
    return runner;
  }
}

function waitingReason(runner: ContainerRunner): string {
  const { waiting, terminated } = runner.container.record.state;
  return waiting?.reason ?? terminated?.reason ?? 'ContainerCreating';
}

/** script(1) takes a command line for a shell. This line is constant; the command is in the environment. */
const ptyCommand = 'exec /bin/sh /etc/bosh-kubernetes/container-terminal.sh';

/** A client sends the size at once, perhaps before the terminal exists. */
const setSize = `left=250
until [ -s "$1" ] || [ "$left" -eq 0 ]; do left=$((left - 1)); sleep 0.02; done
stty -F "$(cat "$1")" rows "$2" cols "$3"`;

/** Runs a command on a new terminal in the container, which script(1) creates there. */
export async function openTerminal(
  container: RunningContainer,
  command: ContainerCommand,
): Promise<ExecSession> {
  const name = `/dev/shm/.terminal-${randomBytes(8).toString('hex')}`;
  const environment = new Map([
    ...command.environment,
    ['SHELL', '/bin/sh'],
    ['TERMINAL_NAME', name],
    ['TERMINAL_ARGUMENTS', String(command.command.length)],
    ...command.command.map((argument, index): [string, string] => [`TERMINAL_ARGUMENT_${index}`, argument]),
  ]);
  const script = ['script', '--quiet', '--return', '--flush', '--command', ptyCommand, '/dev/null'];
  const process = await container.exec({ command: script, environment }, { stdin: true });
  const run = async (...other: readonly string[]): Promise<void> => {
    const helper = await container.exec(
      { command: other, environment: command.environment },
      { stdin: false },
    );
    helper.stdout.resume();
    helper.stderr.resume();
    await helper.exited;
  };
  process.stderr.resume();
  return {
    ...process,
    stderr: Readable.from([]),
    // A resize has no effect if the terminal has ended in the meantime.
    resize: (columns, rows) =>
      void run('/bin/sh', '-c', setSize, 'sh', name, String(rows), String(columns)).catch(() => undefined),
    exited: process.exited.finally(() => void run('rm', '-f', name).catch(() => undefined)),
  };
}
