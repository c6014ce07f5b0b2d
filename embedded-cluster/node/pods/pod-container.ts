import { join } from 'node:path';
import { involved, type EventDetails } from '../../../src/kubernetes/controllers/event-recorder.ts';
import type { Stored } from '../../../src/kubernetes/object.ts';
import type { Container, ContainerState, Pod } from '../../../src/kubernetes/types/pod.ts';
import { environmentOf, type PodContext } from './container-plan.ts';
import type { ContainerRecord } from './container-state.ts';
import type { PodServices } from './pod-services.ts';
import type { PodEnding } from './pod-termination.ts';

/** The parts of a pod that its containers need. */
export interface ContainerOwner {
  readonly pod: () => Stored<Pod>;
  readonly context: PodContext;
  readonly ending: PodEnding;
  /** Must be called after each change of a record. */
  readonly publish: () => void;
}

/** A container of a pod with its record, which it publishes, and its events. */
export class PodContainer {
  readonly container: Container;
  readonly record: ContainerRecord;
  readonly owner: ContainerOwner;
  readonly services: PodServices;

  constructor(container: Container, record: ContainerRecord, owner: ContainerOwner, services: PodServices) {
    this.container = container;
    this.record = record;
    this.owner = owner;
    this.services = services;
  }

  /** Returns the environment of the processes in the container. */
  environment(): Map<string, string> {
    return environmentOf(this.container, this.owner.context);
  }

  /** Returns the path of the log of this run, or of the previous one. */
  logPath(previous = false): string {
    const { name, namespace, uid } = this.owner.pod().metadata;
    const run = this.record.restartCount - (previous ? 1 : 0);
    return join(this.services.layout.podLogs, `${namespace}_${name}_${uid}`, this.record.name, `${run}.log`);
  }

  publish(state: ContainerState): void {
    this.record.state = state;
    this.owner.publish();
  }

  recordEvent(type: EventDetails['type'], reason: string, message: string): void {
    const part = this.record.init ? 'initContainers' : 'containers';
    const fieldPath = `spec.${part}{${this.record.name}}`;
    this.services.events.record(involved('Pod', this.owner.pod()), { type, reason, message, fieldPath });
  }
}
