import type { ContainerExit, RunningContainer } from '../runtime/container-runtime.ts';
import { hostRootImage } from '../node-object.ts';
import { BackOff, imageLimits, restartLimits, retryLimits } from './back-off.ts';
import { ContainerInstance } from './container-instance.ts';
import type { PodContainer } from './pod-container.ts';

/** Decides when a container of a pod is started, tried again and restarted. */
export class ContainerRunner {
  readonly container: PodContainer;
  readonly #restarts = new BackOff(restartLimits);
  readonly #retries = new BackOff(retryLimits);
  #instance: ContainerInstance | undefined;

  constructor(container: PodContainer) {
    this.container = container;
  }

  get running(): RunningContainer | undefined {
    return this.#instance?.running;
  }

  /**
   * Runs the container until it has ended and `shouldRestart` returns false, or until the pod ends. Returns
   * its last exit; `undefined` if it never ran.
   */
  async run(shouldRestart: (exit: ContainerExit) => boolean): Promise<ContainerExit | undefined> {
    const { ending } = this.container.owner;
    if (!(await this.#pull())) {
      return undefined;
    }
    let exit: ContainerExit | undefined;
    while (!ending.signal.aborted) {
      const instance = await this.#start();
      if (instance === undefined) {
        continue;
      }
      this.#instance = instance;
      instance.publishStart();
      exit = await instance.untilExited();
      this.#instance = undefined;
      await instance.recordExit(exit);
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
    const { container, owner, services } = this.container;
    const { image } = container;
    if (image === hostRootImage) {
      return true;
    }
    const backOff = new BackOff(imageLimits);
    const why =
      `failed to pull and unpack image "${image}": the embedded node has one image only, ` +
      `${hostRootImage}: not found`;
    while (!owner.ending.signal.aborted) {
      this.container.recordEvent('Normal', 'Pulling', `Pulling image "${image}"`);
      this.container.recordEvent('Warning', 'Failed', `Failed to pull image "${image}": ${why}`);
      this.container.recordEvent('Warning', 'Failed', 'Error: ErrImagePull');
      this.#publishWaiting('ErrImagePull', why);
      backOff.nextDelay(services.clock.now());
      await this.#pause(2_000);
      this.container.recordEvent('Normal', 'BackOff', `Back-off pulling image "${image}"`);
      this.container.recordEvent('Warning', 'Failed', 'Error: ImagePullBackOff');
      this.#publishWaiting('ImagePullBackOff', `Back-off pulling image "${image}": ErrImagePull: ${why}`);
      await this.#pause(backOff.nextDelay(services.clock.now()));
    }
    return false;
  }

  /** Starts the container. If it cannot be started, reports this, pauses and returns undefined. */
  async #start(): Promise<ContainerInstance | undefined> {
    try {
      return await ContainerInstance.start(this.container);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      this.container.recordEvent('Warning', 'Failed', `Error: ${message}`);
      this.#publishWaiting('CreateContainerError', message);
      const delay = this.#retries.nextDelay(this.container.services.clock.now());
      await this.#pause(Math.max(delay, retryLimits.first));
      return undefined;
    }
  }

  /** Waits between the end of one run and the start of the next. */
  async #backOff(): Promise<void> {
    const { record, owner, services } = this.container;
    const { name, namespace, uid } = owner.pod().metadata;
    const delay = this.#restarts.nextDelay(services.clock.now());
    const exited = record.state;
    record.lastState = exited;
    if (delay === 0) {
      record.restartCount += 1;
      return;
    }
    const pod = `${name}_${namespace}(${uid})`;
    const failed = `Back-off restarting failed container ${record.name} in pod ${pod}`;
    this.container.recordEvent('Warning', 'BackOff', failed);
    const duration = `back-off ${delay / 1000}s`;
    this.#publishWaiting(
      'CrashLoopBackOff',
      `${duration} restarting failed container=${record.name} pod=${pod}`,
    );
    await this.#pause(delay);
    if (owner.ending.signal.aborted) {
      record.state = exited;
    } else {
      record.restartCount += 1;
    }
  }

  #publishWaiting(reason: string, message: string): void {
    this.container.publish({ waiting: { reason, message } });
  }

  #pause(milliseconds: number): Promise<void> {
    const { owner, services } = this.container;
    return services.clock.sleep(milliseconds, owner.ending.signal);
  }
}
