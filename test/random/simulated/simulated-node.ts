import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { LocalApi } from '../../../embedded-cluster/api-server/local-api.ts';
import type { Pod, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import { annotation, label } from '../../../src/cpi/objects/labels.ts';
import type { Hub } from './mount-container.ts';
import { type PodLocation, type PodWish, PodLife } from './pod-life.ts';
import type { Steps } from './steps.ts';

export interface NodeParts {
  readonly name: string;
  readonly api: LocalApi;
  readonly steps: Steps;
  readonly newContainerId: () => number;
  /** Returns whether the storage of the cluster lets this node mount the volume. */
  readonly isAttached: (volume: string, node: string) => boolean;
}

/** A node whose kubelet mounts and runs as a real one does, in steps. */
export class SimulatedNode implements PodLocation {
  readonly name: string;
  readonly steps: Steps;
  readonly lives = new Map<string, PodLife>();
  /** The hubs by the uid of the VM's pod. */
  readonly hubs = new Map<string, Hub>();
  /** True while the node runs but has no connection to the API. */
  isCutOff = false;
  /** True while the node is switched off. */
  isDown = false;
  readonly #parts: NodeParts;

  constructor(parts: NodeParts) {
    this.#parts = parts;
    this.name = parts.name;
    this.steps = parts.steps;
    void this.#admit();
  }

  /** Ends every process and removes every mount. */
  switchOff(): void {
    this.isDown = true;
    for (const life of this.lives.values()) life.endContainer(137, 'switched off');
    this.lives.clear();
    this.hubs.clear();
  }

  newContainerId(): number {
    return this.#parts.newContainerId();
  }

  /** Returns the state of a pod of this node in the API, as far as the kubelet knows. */
  wishFor({ pod: { metadata } }: PodLife): PodWish {
    if (this.isCutOff) return 'stay';
    const now = this.#stored('pods', metadata.namespace, metadata.name);
    if (now === undefined || now.metadata.uid !== metadata.uid) return 'gone';
    return now.metadata.deletionTimestamp === undefined ? 'stay' : 'end';
  }

  canStart({ pod }: PodLife): boolean {
    if (this.isCutOff) return false;
    const claims = claimNamesOf(pod);
    const volumes = this.volumesOf(pod);
    const { labels = {}, annotations = {} } = pod.metadata;
    const vm = this.lives.get(annotations[annotation.vmUid] ?? '');
    return (
      claims.length === volumes.size &&
      [...volumes.values()].every((volume) => this.#parts.isAttached(volume, this.name)) &&
      this.#hasSecrets(pod) &&
      (labels[label.kind] !== 'attachment' || (vm !== undefined && this.hubs.has(vm.uid)))
    );
  }

  /**
   * Returns the volumes of the pod's claims that are bound and not terminating: a kubelet starts no pod with
   * another claim.
   */
  volumesOf(pod: Pod): Map<string, string> {
    const names = claimNamesOf(pod).flatMap((name) => {
      const claim = this.#stored('persistentvolumeclaims', pod.metadata.namespace, name) as
        | PersistentVolumeClaim
        | undefined;
      const volume = claim?.status?.phase === 'Bound' ? claim.spec.volumeName : undefined;
      const isGoing = claim?.metadata.deletionTimestamp !== undefined;
      return volume === undefined || isGoing ? [] : [[name, volume] as const];
    });
    return new Map(names);
  }

  /** Returns whether a kubelet reports the volume as in use. */
  isMounted(volume: string): boolean {
    return (
      [...this.hubs.values()].some(({ mounts }) => [...mounts.values()].includes(volume)) ||
      [...this.lives.values()].some(
        ({ volumes, uses }) => [...volumes.values()].includes(volume) || [...uses.values()].includes(volume),
      )
    );
  }

  usersOf(volume: string): string[] {
    return [...this.lives.values()]
      .filter(({ uses }) => [...uses.values()].includes(volume))
      .map(({ name }) => `a process of ${name} has it mounted`);
  }

  /** Returns the uids of other VMs with processes whose hub has the volume. */
  otherVms(volume: string, vmUid: string): string[] {
    return [...this.hubs]
      .filter(([uid, { mounts }]) => uid !== vmUid && [...mounts.values()].includes(volume))
      .map(([uid]) => uid)
      .filter((uid) => this.lives.get(uid)?.stage === 'running');
  }

  async setStatus({ pod: { metadata } }: PodLife, status: PodStatus): Promise<void> {
    const { namespace, name, uid = '' } = metadata;
    const reference = { resource: pods, namespace, name };
    await ignoreMissing(
      this.#parts.api.patch(reference, { metadata: { uid }, status }, { subresource: 'status' }),
    );
  }

  /** Deletes a pod that the kubelet has stopped and removed from the node. */
  async remove(life: PodLife): Promise<void> {
    this.lives.delete(life.uid);
    const { namespace, name, uid = '' } = life.pod.metadata;
    const reference = { resource: pods, namespace, name };
    await ignoreMissing(this.#parts.api.delete(reference, { gracePeriodSeconds: 0, preconditions: { uid } }));
  }

  async #admit(): Promise<never> {
    for (;;) {
      await this.steps.when(`kubelet ${this.name}: sees a new pod`, () => this.#newPods().length > 0);
      for (const pod of this.#newPods()) {
        const life = new PodLife(structuredClone(pod), this);
        this.lives.set(life.uid, life);
        void life.live();
      }
    }
  }

  #newPods(): Pod[] {
    if (this.isCutOff || this.isDown) return [];
    return (this.#parts.api.registry.store.list('pods') as unknown as Pod[]).filter(
      ({ metadata, spec, status }) =>
        spec.nodeName === this.name && !this.lives.has(metadata.uid ?? '') && status?.phase !== 'Failed',
    );
  }

  #hasSecrets({ metadata: { namespace }, spec: { volumes = [] } }: Pod): boolean {
    return volumes.every(
      ({ secret }) =>
        secret === undefined || this.#stored('secrets', namespace, secret.secretName) !== undefined,
    );
  }

  #stored(resource: string, namespace: string | undefined, name: string): Pod | undefined {
    return this.#parts.api.registry.store.get(resource, namespace, name) as Pod | undefined;
  }
}

export const claimNamesOf = ({ spec: { volumes = [] } }: Pod): string[] =>
  volumes.flatMap(({ persistentVolumeClaim: claim }) => (claim === undefined ? [] : [claim.claimName]));

async function ignoreMissing(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}
