import type { BrokerResponse } from '../http/answer.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { InstanceRecord } from '../store/record.ts';
import { finishOperation, pendingInstance } from './operation.ts';

interface RunnerPorts {
  readonly store: BrokerStore;
  /** Why the share of an instance cannot be used, where it cannot. */
  readonly refuseShare: (instance: InstanceRecord) => Promise<BrokerResponse | undefined>;
  readonly warn: (line: string) => void;
}

/**
 * Brings operations in progress to their end. One whose broker was killed is begun again by whoever hears of
 * it next, at the latest at the platform's next poll; two brokers that run it come to one end.
 */
export class OperationRunner {
  readonly #ports: RunnerPorts;
  readonly #running = new Map<string, Promise<void>>();

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
  }

  /** Runs what is in progress on an instance, unless this broker does already. */
  start(instance: InstanceRecord | undefined): void {
    if (instance?.operation === undefined) return;
    const { operation } = instance;
    if (operation.state !== 'in progress' || this.#running.has(operation.id)) return;
    const { id } = operation;
    const run = this.#run(instance, id)
      // without its store it stays in progress, for the next poll
      .catch((error: unknown) => this.#ports.warn(`operation ${id} was not written: ${String(error)}`))
      .finally(() => this.#running.delete(id));
    this.#running.set(id, run);
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #run(instance: InstanceRecord, operationId: string): Promise<void> {
    const { store, refuseShare } = this.#ports;
    const refused = await refuseShare(pendingInstance(instance));
    await store.change({ instanceId: instance.id }, (view) => finishOperation(view, operationId, refused));
  }
}
