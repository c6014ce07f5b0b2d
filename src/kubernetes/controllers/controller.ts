import type { KubernetesObject } from '../object.ts';
import type { Informer } from './informer.ts';
import { WorkQueue, type ControllerRuntime } from './work-queue.ts';

/**
 * A controller: a queue of the keys of objects whose state is to be brought to the desired one, one object at
 * a time. A subclass adds keys in handlers of informers, which it registers in its constructor.
 */
export abstract class Controller {
  protected readonly queue: WorkQueue;

  /** The name is part of reported errors. */
  protected constructor(name: string, runtime: ControllerRuntime) {
    this.queue = new WorkQueue(name, (key) => this.reconcile(key), runtime);
  }

  /**
   * Reconciles the object named by the key by one step; called again after any change and after a failure.
   */
  protected abstract reconcile(key: string): Promise<void>;

  /** Reconciles each object of the informer after every change of it. */
  protected watch<T extends KubernetesObject>(informer: Informer<T>): void {
    informer.onChange(({ key }) => this.queue.add(key));
  }

  /** Runs until `stop`; a reconciliation in progress is finished. The informers must be synced. */
  run(): Promise<void> {
    return this.queue.run();
  }

  stop(): void {
    this.queue.stop();
  }
}
