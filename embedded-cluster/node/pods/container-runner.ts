import type { Stored } from '../../../src/kubernetes/object.ts';
import { involved, type EventDetails } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Container, Pod } from '../../../src/kubernetes/types/pod.ts';
import { hostRootImage } from '../node-object.ts';
import { podDirectory } from '../node-paths.ts';
import { ContainerLog, removeOldLogs } from '../logs/container-log.ts';
import type { ContainerExit, RunningContainer } from '../runtime/container-runtime.ts';
import { BackOff, imageLimits, restartLimits, retryLimits } from './back-off.ts';
import { containerPlan, environmentOf, type PodContext } from './container-plan.ts';
import { type ContainerRecord, makeMessageFile, messageFromLog, readMessageFile } from './container-state.ts';
import { aborted, type PodEnding } from './pod-termination.ts';
import type { PodServices } from './pod-services.ts';

/** The parts of a pod that a container runner needs. */
export interface RunnerPod {
  readonly pod: () => Stored<Pod>;
  readonly surroundings: PodContext;
  readonly ending: PodEnding;
  /** Must be called after each change of the record. */
  readonly publish: () => void;
}

/** Runs one container of a pod: pulls, starts, restarts, stops. */
export class ContainerRunner {
  readonly record: ContainerRecord;
  readonly container: Container;
  readonly #pod: RunnerPod;
  readonly #services: PodServices;
  readonly #restarts = new BackOff(restartLimits);
  readonly #retries = new BackOff(retryLimits);
  #running: RunningContainer | undefined;

  constructor(container: Container, record: ContainerRecord, pod: RunnerPod, services: PodServices) {
    this.container = container;
    this.record = record;
    this.#pod = pod;
    this.#services = services;
  }

  /** Returns the environment of the processes in the container. */
  environment(): Map<string, string> {
    return environmentOf(this.container, this.#pod.surroundings);
  }

  get running(): RunningContainer | undefined {
    return this.#running;
  }

  /**
   * Runs the container until it has ended and `shouldRestart` returns false, or until the pod ends. Returns
   * its last exit; `undefined` if it never ran.
   */
  async run(shouldRestart: (exit: ContainerExit) => boolean): Promise<ContainerExit | undefined> {
    const { ending } = this.#pod;
    if (!(await this.#pull())) {
      return undefined;
    }
    let exit: ContainerExit | undefined;
    while (!ending.signal.aborted) {
      const started = await this.#start();
      if (started === undefined) {
        continue;
      }
      exit = await this.#untilEnded(started);
      if (ending.signal.aborted || !shouldRestart(exit)) {
        break;
      }
      await this.#backOff();
    }
    return exit;
  }

  /**
   * There is only one image, and it is on this machine. Any other image fails as if the registry did not know
   * it.
   */
  async #pull(): Promise<boolean> {
    const { image } = this.container;
    if (image === hostRootImage) {
      return true;
    }
    const { ending } = this.#pod;
    const backOff = new BackOff(imageLimits);
    const why =
      `failed to pull and unpack image "${image}": the embedded node has one image only, ` +
      `${hostRootImage}: not found`;
    while (!ending.signal.aborted) {
      this.#recordEvent('Normal', 'Pulling', `Pulling image "${image}"`);
      this.#recordEvent('Warning', 'Failed', `Failed to pull image "${image}": ${why}`);
      this.#recordEvent('Warning', 'Failed', 'Error: ErrImagePull');
      this.#wait('ErrImagePull', why);
      backOff.nextDelay(this.#services.clock.now());
      await this.#pause(2_000);
      this.#recordEvent('Normal', 'BackOff', `Back-off pulling image "${image}"`);
      this.#recordEvent('Warning', 'Failed', 'Error: ImagePullBackOff');
      this.#wait('ImagePullBackOff', `Back-off pulling image "${image}": ErrImagePull: ${why}`);
      await this.#pause(backOff.nextDelay(this.#services.clock.now()));
    }
    return false;
  }

  /**
   * Starts the container. `undefined`: it could not be started now, and the pause before the next try is
   * over.
   */
  async #start(): Promise<RunningContainer | undefined> {
    const { clock, runtime } = this.#services;
    const id = randomBytes(16).toString('hex');
    this.#recordEvent(
      'Normal',
      'Pulled',
      `Container image "${this.container.image}" already present on machine`,
    );
    try {
      const terminationMessage = await makeMessageFile(this.#messageFile(id));
      const plan = containerPlan(this.#pod.pod(), this.container, this.#pod.surroundings, {
        id,
        terminationMessage,
      });
      this.#recordEvent('Normal', 'Created', `Created container: ${this.record.name}`);
      const log = await this.#openLog();
      try {
        this.#running = await runtime.run(plan, {
          stdout: (chunk) => log.write('stdout', chunk),
          stderr: (chunk) => log.write('stderr', chunk),
        });
      } catch (error) {
        log.close();
        throw error;
      }
      void this.#running.exited.then(() => log.close());
    } catch (error) {
      await this.#failToStart(error instanceof Error ? error.message : String(error));
      return undefined;
    }
    this.record.containerId = `embedded://${id}`;
    this.record.state = { running: { startedAt: timestamp(clock.now()) } };
    this.#recordEvent('Normal', 'Started', `Started container ${this.record.name}`);
    this.#pod.publish();
    return this.#running;
  }

  async #failToStart(message: string): Promise<void> {
    this.#recordEvent('Warning', 'Failed', `Error: ${message}`);
    this.#wait('CreateContainerError', message);
    const delay = this.#retries.nextDelay(this.#services.clock.now());
    await this.#pause(Math.max(delay, retryLimits.first));
  }

  async #untilEnded(running: RunningContainer): Promise<ContainerExit> {
    const { ending } = this.#pod;
    const ended = new AbortController();
    const stopping = aborted(AbortSignal.any([ending.signal, ended.signal])).then(() =>
      ended.signal.aborted ? undefined : this.#stop(running, ended.signal),
    );
    const exit = await running.exited;
    ended.abort();
    await stopping;
    this.#running = undefined;
    await this.#recordEnd(running.id, exit);
    return exit;
  }

  /**
   * Runs preStop, then sends SIGTERM, and SIGKILL after the grace period (kubelet: kuberuntime_container.go,
   * killContainer).
   */
  async #stop(running: RunningContainer, ended: AbortSignal): Promise<void> {
    const { ending } = this.#pod;
    const graceOver = ending.graceElapsed(ended);
    if (ending.reason !== 'node-stopped') {
      this.#recordEvent('Normal', 'Killing', `Stopping container ${this.record.name}`);
    }
    if (ending.reason === 'deleted') {
      await Promise.race([this.#preStop(running), graceOver]);
    }
    running.signal('SIGTERM');
    await graceOver;
    if (!ended.aborted) {
      await running.kill();
    }
  }

  async #preStop(running: RunningContainer): Promise<void> {
    const command = this.container.lifecycle?.preStop?.exec?.command;
    if (command === undefined) {
      return;
    }
    try {
      const environment = this.environment();
      const hook = await running.exec({ command, environment }, { stdin: false });
      hook.stdout.resume();
      hook.stderr.resume();
      const { exitCode } = await hook.exited;
      if (exitCode !== 0) {
        this.#recordEvent('Warning', 'FailedPreStopHook', `PreStopHook failed: exit code ${exitCode}`);
      }
    } catch (error) {
      this.#recordEvent('Warning', 'FailedPreStopHook', `PreStopHook failed: ${String(error)}`);
    }
  }

  async #recordEnd(id: string, { exitCode }: ContainerExit): Promise<void> {
    const message = await this.#terminationMessage(id, exitCode);
    const startedAt = this.record.state.running?.startedAt;
    this.record.state = {
      terminated: {
        exitCode,
        reason: exitCode === 0 ? 'Completed' : 'Error',
        ...(message !== '' && { message }),
        ...(startedAt !== undefined && { startedAt }),
        finishedAt: timestamp(this.#services.clock.now()),
        containerID: `embedded://${id}`,
      },
    };
    if (this.#pod.ending.reason !== 'node-stopped') {
      this.#pod.publish();
    }
  }

  /** Waits between the end of one run and the start of the next. */
  async #backOff(): Promise<void> {
    const { name, namespace, uid } = this.#pod.pod().metadata;
    const delay = this.#restarts.nextDelay(this.#services.clock.now());
    const ended = this.record.state;
    this.record.lastState = ended;
    if (delay === 0) {
      this.record.restartCount += 1;
      return;
    }
    const who = `container ${this.record.name} in pod ${name}_${namespace}(${uid})`;
    this.#recordEvent('Warning', 'BackOff', `Back-off restarting failed ${who}`);
    const container = who.replace(/^container /, 'container=').replace(' in pod ', ' pod=');
    this.#wait('CrashLoopBackOff', `back-off ${delay / 1000}s restarting failed ${container}`);
    await this.#pause(delay);
    if (this.#pod.ending.signal.aborted) {
      this.record.state = ended;
    } else {
      this.record.restartCount += 1;
    }
  }

  #messageFile(id: string): string {
    const { uid } = this.#pod.pod().metadata;
    return join(podDirectory(this.#services.layout, uid), 'containers', this.record.name, id);
  }

  async #terminationMessage(id: string, exitCode: number): Promise<string> {
    const message = await readMessageFile(this.#messageFile(id));
    const fromLog = this.container.terminationMessagePolicy === 'FallbackToLogsOnError';
    return message === '' && fromLog && exitCode !== 0 ? messageFromLog(this.logPath()) : message;
  }

  /** Returns the path of the log of this run, or of the previous one. */
  logPath(previous = false): string {
    const { name, namespace, uid } = this.#pod.pod().metadata;
    const run = this.record.restartCount - (previous ? 1 : 0);
    return join(this.#services.layout.podLogs, `${namespace}_${name}_${uid}`, this.record.name, `${run}.log`);
  }

  async #openLog(): Promise<ContainerLog> {
    const { clock, logChanges } = this.#services;
    const log = await ContainerLog.open(this.logPath(), () => new Date(clock.now()), logChanges);
    await removeOldLogs(log.path);
    return log;
  }

  #wait(reason: string, message: string): void {
    this.record.state = { waiting: { reason, message } };
    this.#pod.publish();
  }

  #pause(milliseconds: number): Promise<void> {
    return this.#services.clock.sleep(milliseconds, this.#pod.ending.signal);
  }

  #recordEvent(type: EventDetails['type'], reason: string, message: string): void {
    const part = this.record.init ? 'initContainers' : 'containers';
    const fieldPath = `spec.${part}{${this.record.name}}`;
    this.#services.events.record(involved('Pod', this.#pod.pod()), { type, reason, message, fieldPath });
  }
}
