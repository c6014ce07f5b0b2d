import type { EventEmitter } from 'node:events';
import { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { ContainerRunner } from '../pods/container-runner.ts';
import type { PodWorker } from '../pods/pod-worker.ts';
import { readLog } from '../logs/read-log.ts';
import type { ExecRequest, ExecSession, LogRequest, PodConsole } from '../pod-console.ts';
import { openTerminal } from './terminal.ts';

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
    if (previous && runner.record.restartCount === 0) {
      throw badRequest(`previous terminated container "${container}" in pod "${pod}" not found`);
    }
    if (!previous && runner.record.containerId === undefined) {
      throw badRequest(
        `container "${container}" in pod "${pod}" is waiting to start: ${waitingReason(runner)}`,
      );
    }
    const path = runner.logPath(previous);
    const follow = request.follow
      ? {
          changes: this.#logChanges,
          writing: () => runner.running !== undefined && runner.logPath() === path,
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
      const environment = runner.environment();
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
  const { waiting, terminated } = runner.record.state;
  return waiting?.reason ?? terminated?.reason ?? 'ContainerCreating';
}
