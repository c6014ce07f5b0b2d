import { createHash } from 'node:crypto';
import { bootstrapCluster } from '../../../embedded-cluster/api-server/bootstrap.ts';
import type { ControlPlaneApi } from '../../../embedded-cluster/api-server/control-plane-api.ts';
import { groupResource } from '../../../embedded-cluster/api-server/errors/status-errors.ts';
import { allKinds } from '../../../embedded-cluster/api-server/kinds/all-kinds.ts';
import { LocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import { ObjectStore } from '../../../embedded-cluster/api-server/store/object-store.ts';
import type { TokenKey } from '../../../embedded-cluster/api-server/tokens/json-web-token.ts';
import { GarbageCollector } from '../../../embedded-cluster/controllers/garbage-collector.ts';
import { PodGarbageCollector } from '../../../embedded-cluster/testing/lost-nodes/pod-gc.ts';
import { TaintEviction } from '../../../embedded-cluster/testing/lost-nodes/taint-eviction.ts';
import { Scheduler } from '../../../embedded-cluster/controllers/scheduling/scheduler.ts';
import { SnapshotController } from '../../../embedded-cluster/controllers/snapshots/snapshot-controller.ts';
import { SnapshotSidecar } from '../../../embedded-cluster/controllers/snapshots/snapshot-sidecar.ts';
import { startControllers } from '../../../embedded-cluster/controllers/start-controllers.ts';
import { ClaimBinder } from '../../../embedded-cluster/controllers/volumes/claim-binder.ts';
import {
  ClaimProtection,
  VolumeProtection,
  SourceProtection,
} from '../../../embedded-cluster/controllers/volumes/claim-protection.ts';
import { VolumeReclaimer } from '../../../embedded-cluster/controllers/volumes/volume-reclaimer.ts';
import { SourceProvisioner } from '../../../embedded-cluster/controllers/volumes/provisioning.ts';
import type { ControllerContext } from '../../../embedded-cluster/controllers/controller-context.ts';
import { defaultNodeTimings } from '../../../embedded-cluster/testing/lost-nodes/node-lifecycle.ts';
import type { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import type { CallContext } from '../../../src/cpi/call.ts';
import { parseConfig } from '../../../src/cpi/config/config.ts';
import { volumeAttachmentKind } from '../../../src/cpi/testing/foreign-kinds.ts';
import { machineLabel } from '../../../src/kubernetes/types/node.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { events, nodes, persistentVolumes, storageClasses } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolume, StorageClass } from '../../../src/kubernetes/types/storage.ts';
import { AttachDetach, csiDriver } from './attach-detach.ts';
import { execIn } from './exec-in.ts';
import { SimulatedNode } from './simulated-node.ts';
import { SimulatedStorage } from './simulated-storage.ts';
import type { Steps } from './steps.ts';
import { VirtualClock } from './virtual-clock.ts';

export const namespace = 'bosh';
/** Two classes that bind at once, so that update_disk copies from one to the other. */
export const classNames = ['now', 'other'] as const;

const controllers = (context: ControllerContext): Controller[] => [
  new GarbageCollector(context),
  new ClaimProtection(context),
  new VolumeProtection(context),
  new ClaimBinder(context),
  new SourceProvisioner(context),
  new SourceProtection(context),
  new SnapshotController(context),
  new SnapshotSidecar(context),
  new VolumeReclaimer(context),
  new Scheduler(context),
  new TaintEviction(context),
  new PodGarbageCollector(context, defaultNodeTimings),
];

export interface WorldOptions {
  readonly steps: Steps;
  readonly journal: string;
  readonly tokenKey: TokenKey;
  /** Its storage driver uses VolumeAttachments: a volume is on one node at a time. */
  readonly hasAttacher: boolean;
}

/**
 * API server, controllers, storage and two nodes in this process, all of which proceed in steps. It uses
 * nothing else of the machine.
 */
export class SimulatedWorld {
  readonly api: LocalApi;
  readonly steps: Steps;
  readonly clock: VirtualClock;
  readonly storage: SimulatedStorage;
  readonly nodes: readonly SimulatedNode[];
  readonly errors: unknown[] = [];
  readonly #parts: { readonly cloud: CallContext; readonly hasAttacher: boolean };
  #stopControllers: () => Promise<void> = () => Promise.resolve();

  constructor({ steps, journal, tokenKey, hasAttacher }: WorldOptions) {
    this.steps = steps;
    this.clock = new VirtualClock(steps);
    const { clock } = this;
    const store = ObjectStore.open({ file: journal, now: () => clock.now() });
    const attachmentKind = [groupResource(volumeAttachmentKind.resource), volumeAttachmentKind] as const;
    const kinds = new Map([...allKinds, attachmentKind]);
    const newUuid = countingUuids();
    const random = {
      uuid: newUuid,
      below: (bound: number) => Number.parseInt(newUuid().slice(-4), 16) % bound,
    };
    this.api = new LocalApi({ store, kinds, clock, random, tokenKey });
    let containers = 0;
    const nodeParts = {
      ...{ api: this.api, steps },
      newContainerId: () => (containers += 1),
      isAttached: (volume: string, node: string) => !hasAttacher || attacher.isAttached(volume, node),
    };
    this.nodes = ['sim-1', 'sim-2'].map((name) => new SimulatedNode({ ...nodeParts, name }));
    const attacher = hasAttacher ? new AttachDetach(this.api, this.nodes, steps) : { isAttached: () => true };
    this.storage = new SimulatedStorage(
      (label) => steps.step(label),
      (volume) => this.nodes.some((node) => node.isMounted(volume)),
    );
    this.#parts = { cloud: this.#cloud(newUuid), hasAttacher };
  }

  /** The call context of a process without interruptions. */
  get cloud(): CallContext {
    return this.#parts.cloud;
  }

  async start(): Promise<void> {
    await bootstrapCluster(this.api);
    for (const { name } of this.nodes) {
      const labels = {
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
        'kubernetes.io/arch': 'amd64',
        'topology.kubernetes.io/zone': `z${name.slice(-1)}`,
        [machineLabel]: 'one',
      };
      await this.api.create(nodes, { metadata: { name, labels } });
      const ready = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
      const allocatable = { cpu: '40', memory: '800Gi', pods: '110', 'ephemeral-storage': '1000Gi' };
      const status = { allocatable, conditions: [ready] };
      await this.api.patch({ resource: nodes, name }, { status }, { subresource: 'status' });
    }
    for (const name of classNames) {
      const provisioner = 'bosh-kubernetes.io/local';
      const base = { metadata: { name }, provisioner, allowVolumeExpansion: true };
      await this.api.create<StorageClass>(storageClasses, { ...base, volumeBindingMode: 'Immediate' });
    }
    const running = await startControllers({
      ...{ api: this.#controllersApi(), provisioner: this.storage, clock: this.clock, controllers },
      random: () => 0,
      onError: (error) => void this.errors.push(error),
    });
    this.#stopControllers = () => running.stop();
  }

  async stop(): Promise<void> {
    void this.#stopControllers();
    await this.api.close();
  }

  #cloud(newUuid: () => string): CallContext {
    const deadlines = {
      ...{ schedule: 40, sandbox: 20, create_vm: 60, delete_vm: 60, reboot_vm: 60, attach_disk: 40 },
      ...{ agent: 5, release: 3, detach_disk: 40, delete_disk: 40, snapshot_disk: 40, update_disk: 40 },
      ...{ resize_disk: 40, lost_node: 10 },
    };
    return {
      api: this.api,
      exec: (command) => execIn(this, command),
      config: parseConfig({ agent: { mbus: 'https://mbus:secret@0.0.0.0:6868' }, deadlines }, {}),
      namespace,
      diskNamespace: namespace,
      clock: this.clock,
      newUuid,
      directorUuid: 'director-1',
      log: () => undefined,
      reportProgress: () => undefined,
    };
  }

  /** Each write of a controller is a step; events are not, because no wait depends on them. */
  #controllersApi(): ControlPlaneApi {
    const { api, steps } = this;
    const written = async <T>(message: string, write: () => Promise<T>): Promise<T> => {
      await steps.step(`controller: ${message}`);
      return write();
    };
    return {
      get: (reference) => api.get(reference),
      list: (resource, query) => api.list(resource, query),
      watch: (resource, query) => api.watch(resource, query),
      groups: () => api.groups(),
      anyMatch: (resource, query, predicate) => api.anyMatch(resource, query, predicate),
      requestToken: (accountNamespace, account, request) =>
        api.requestToken(accountNamespace, account, request),
      finalizeNamespace: (name) => api.finalizeNamespace(name),
      create: (resource, object) =>
        resource === events
          ? api.create(resource, object)
          : written(`create ${resource.plural} ${object.metadata.name}`, () =>
              api.create(resource, this.#asDriverHasIt(resource === persistentVolumes, object)),
            ),
      dryRunCreate: (resource, object) => api.dryRunCreate(resource, object),
      replace: (resource, object, subresource) =>
        written(`replace ${resource.plural} ${object.metadata.name}`, () =>
          api.replace(resource, object, subresource),
        ),
      patch: (reference, patch, options) =>
        reference.resource === events
          ? api.patch(reference, patch, options)
          : written(`patch ${reference.resource.plural} ${reference.name}`, () =>
              api.patch(reference, patch, options),
            ),
      delete: (reference, options) =>
        written(`delete ${reference.resource.plural} ${reference.name}`, () =>
          api.delete(reference, options),
        ),
      bindPod: (podNamespace, name, nodeName) =>
        written(`bind pod ${name} to ${nodeName}`, () => api.bindPod(podNamespace, name, nodeName)),
    };
  }

  /** A volume of a driver with VolumeAttachments is not a directory of a node. */
  #asDriverHasIt<T extends KubernetesObject>(isVolume: boolean, object: T): T {
    if (!isVolume || !this.#parts.hasAttacher) return object;
    const volume = object as unknown as PersistentVolume;
    const { hostPath: _none, ...spec } = volume.spec;
    const csi = { driver: csiDriver, volumeHandle: volume.metadata.name };
    return { ...volume, spec: { ...spec, csi } } as unknown as T;
  }
}

/** Returns uuids that are consecutive numbers. */
function countingUuids(): () => string {
  let count = 0;
  return () => {
    count += 1;
    const digits = createHash('sha256').update(String(count)).digest('hex');
    return `${digits.slice(0, 8)}-0000-4000-8000-${String(count).padStart(12, '0')}`;
  };
}
