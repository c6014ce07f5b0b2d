import type { BrokerResponse } from '../http/answer.ts';
import type { BrokerStore } from '../store/broker-store.ts';
import type { InstanceRecord } from '../store/record.ts';
import { finishOperation, pendingInstance } from './operation.ts';

interface RunnerPorts {
  readonly store: BrokerStore;
  /** Returns the error if the share of an instance cannot be used, otherwise undefined. */
  readonly refuseShare: (instance: InstanceRecord) => Promise<BrokerResponse | undefined>;
  readonly warn: (line: string) => void;
}

/**
 * Finishes operations in progress. If the broker dies, the next request or poll for the instance restarts the
 * operation. Two brokers may run it at the same time; the result is the same.
 */
export class OperationRunner {
  readonly #ports: RunnerPorts;
  readonly #running = new Map<string, Promise<void>>();

  constructor(ports: RunnerPorts) {
    this.#ports = ports;
  }

  /** Runs the operation in progress of an instance, unless this broker is already running it. */
  start(instance: InstanceRecord | undefined): void {
    if (instance?.operation === undefined) return;
    const { operation } = instance;
    if (operation.state !== 'in progress' || this.#running.has(operation.id)) return;
    const { id } = operation;
    const run = this.#run(instance, id)
      // if the store fails, the operation stays in progress until the next poll
      .catch((error: unknown) => this.#ports.warn(`operation ${id} was not written: ${String(error)}`))
      .finally(() => this.#running.delete(id));
    this.#running.set(id, run);
  }

  /** Resolves when no operation is running. */
  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }

  async #run(instance: InstanceRecord, operationId: string): Promise<void> {
    const { store, refuseShare } = this.#ports;
    const refused = await refuseShare(pendingInstance(instance));
    await store.change({ instanceId: instance.id }, (view) => finishOperation(view, operationId, refused));
  }
}
