import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { ContainerLog, removeOldLogs } from '../logs/container-log.ts';
import { podDirectory } from '../node-paths.ts';
import type { ContainerExit, RunningContainer } from '../runtime/container-runtime.ts';
import { containerPlan } from './container-plan.ts';
import { makeMessageFile, messageFromLog, readMessageFile } from './container-state.ts';
import type { PodContainer } from './pod-container.ts';
import { aborted } from './pod-termination.ts';

/** One run of a container, from its start to its exit. */
export class ContainerInstance {
  readonly running: RunningContainer;
  readonly #container: PodContainer;
  readonly #messageFile: string;

  private constructor(running: RunningContainer, container: PodContainer, messageFile: string) {
    this.running = running;
    this.#container = container;
    this.#messageFile = messageFile;
  }

  /** Starts the container. Rejects if it cannot be started. */
  static async start(container: PodContainer): Promise<ContainerInstance> {
    const { record, owner, services } = container;
    const { image } = container.container;
    const id = randomBytes(16).toString('hex');
    container.recordEvent('Normal', 'Pulled', `Container image "${image}" already present on machine`);
    const { uid } = owner.pod().metadata;
    const directory = join(podDirectory(services.layout, uid), 'containers', record.name);
    const messageFile = await makeMessageFile(join(directory, id));
    const plan = containerPlan(owner.pod(), container.container, owner.context, {
      id,
      terminationMessage: messageFile,
    });
    container.recordEvent('Normal', 'Created', `Created container: ${record.name}`);
    const log = await openLog(container);
    let running;
    try {
      running = await services.runtime.run(plan, {
        stdout: (chunk) => log.write('stdout', chunk),
        stderr: (chunk) => log.write('stderr', chunk),
      });
    } catch (error) {
      log.close();
      throw error;
    }
    void running.exited.then(() => log.close());
    return new ContainerInstance(running, container, messageFile);
  }

  /** Publishes that the container runs. */
  publishStart(): void {
    const { record, services } = this.#container;
    record.containerId = `embedded://${this.running.id}`;
    this.#container.recordEvent('Normal', 'Started', `Started container ${record.name}`);
    this.#container.publish({ running: { startedAt: timestamp(services.clock.now()) } });
  }

  /** Returns the exit of the container. Stops the container if the pod ends. */
  async untilExited(): Promise<ContainerExit> {
    const { ending } = this.#container.owner;
    const exited = new AbortController();
    const stopping = aborted(AbortSignal.any([ending.signal, exited.signal])).then(() =>
      exited.signal.aborted ? undefined : this.#stop(exited.signal),
    );
    const exit = await this.running.exited;
    exited.abort();
    await stopping;
    return exit;
  }

  /** Puts the exit and the termination message into the record. */
  async recordExit({ exitCode }: ContainerExit): Promise<void> {
    const { record, owner, services } = this.#container;
    const message = await this.#terminationMessage(exitCode);
    const startedAt = record.state.running?.startedAt;
    record.state = {
      terminated: {
        exitCode,
        reason: exitCode === 0 ? 'Completed' : 'Error',
        ...(message !== '' && { message }),
        ...(startedAt !== undefined && { startedAt }),
        finishedAt: timestamp(services.clock.now()),
        containerID: `embedded://${this.running.id}`,
      },
    };
    if (owner.ending.reason !== 'node-stopped') owner.publish();
  }

  /**
   * Runs preStop, then sends SIGTERM, and SIGKILL after the grace period (kubelet: kuberuntime_container.go,
   * killContainer).
   */
  async #stop(exited: AbortSignal): Promise<void> {
    const { ending } = this.#container.owner;
    const graceElapsed = ending.graceElapsed(exited);
    if (ending.reason !== 'node-stopped') {
      this.#container.recordEvent('Normal', 'Killing', `Stopping container ${this.#container.record.name}`);
    }
    if (ending.reason === 'deleted') {
      await Promise.race([this.#preStop(), graceElapsed]);
    }
    this.running.signal('SIGTERM');
    await graceElapsed;
    if (!exited.aborted) {
      await this.running.kill();
    }
  }

  async #preStop(): Promise<void> {
    const command = this.#container.container.lifecycle?.preStop?.exec?.command;
    if (command === undefined) {
      return;
    }
    try {
      const environment = this.#container.environment();
      const hook = await this.running.exec({ command, environment }, { stdin: false });
      hook.stdout.resume();
      hook.stderr.resume();
      const { exitCode } = await hook.exited;
      if (exitCode !== 0) this.#reportFailedHook(`exit code ${exitCode}`);
    } catch (error) {
      this.#reportFailedHook(String(error));
    }
  }

  #reportFailedHook(why: string): void {
    this.#container.recordEvent('Warning', 'FailedPreStopHook', `PreStopHook failed: ${why}`);
  }

  async #terminationMessage(exitCode: number): Promise<string> {
    const message = await readMessageFile(this.#messageFile);
    const { terminationMessagePolicy } = this.#container.container;
    const isFromLog =
      terminationMessagePolicy === 'FallbackToLogsOnError' && message === '' && exitCode !== 0;
    return isFromLog ? messageFromLog(this.#container.logPath()) : message;
  }
}

async function openLog(container: PodContainer): Promise<ContainerLog> {
  const { clock, logChanges } = container.services;
  const log = await ContainerLog.open(container.logPath(), () => new Date(clock.now()), logChanges);
  await removeOldLogs(log.path);
  return log;
}
