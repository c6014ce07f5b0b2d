import type { ContainerState, Pod, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { annotation, label } from '../../../src/cpi/objects/labels.ts';
import { isDiskCid } from '../../../src/cpi/objects/names.ts';
import { type Hub, type ScriptOutcome, MountContainer } from './mount-container.ts';
import type { Steps } from './steps.ts';

type Stage = 'new' | 'running' | 'ended' | 'gone';

/** The process of a pod's container, as its kubelet knows it. */
interface Container {
  readonly id: number;
  readonly mounter: MountContainer | undefined;
  /** Undefined while the process runs. */
  exit: ScriptOutcome | undefined;
}

/**
 * The state in the API of a pod that is on the node: `stay`, `end` (terminating, with its grace period), or
 * `gone` (deleted).
 */
export type PodWish = 'stay' | 'end' | 'gone';

/** The parts of a node that a pod needs. */
export interface PodLocation {
  readonly name: string;
  readonly steps: Steps;
  readonly isCutOff: boolean;
  readonly lives: ReadonlyMap<string, PodLife>;
  /** The hubs by the uid of the VM's pod. */
  readonly hubs: Map<string, Hub>;
  wishFor(life: PodLife): PodWish;
  canStart(life: PodLife): boolean;
  newContainerId(): number;
  volumesOf(pod: Pod): ReadonlyMap<string, string>;
  otherVms(volume: string, vmUid: string): readonly string[];
  usersOf(volume: string): readonly string[];
  setStatus(life: PodLife, status: PodStatus): Promise<void>;
  remove(life: PodLife): Promise<void>;
}

type Action = () => void | Promise<void>;

/**
 * One pod on its node, from its first sync until its kubelet has removed it: containers, mounts, reported
 * status.
 */
export class PodLife {
  readonly pod: Pod;
  readonly node: PodLocation;
  /** The volumes that the kubelet has mounted for it, by claim. */
  readonly volumes = new Map<string, string>();
  /** Volumes that jobs of the VM have mounted at their own path, by the disk's name in the hub. */
  readonly uses = new Map<string, string>();
  readonly #scratch = { isEnded: false, isReleased: false, mark: undefined };
  #stage: Stage = 'new';
  #container: Container | undefined;
  #lastExit: ScriptOutcome | undefined;
  #isTermSent = false;
  #isEvicted = false;
  #isReported = true;
  #restarts = 0;

  constructor(pod: Pod, node: PodLocation) {
    this.pod = pod;
    this.node = node;
  }

  get uid(): string {
    return this.pod.metadata.uid ?? '';
  }

  get name(): string {
    return this.pod.metadata.name;
  }

  get stage(): Stage {
    return this.#stage;
  }

  get isVm(): boolean {
    return this.pod.metadata.labels?.[label.kind] === 'vm';
  }

  get isRunning(): boolean {
    return this.#stage === 'running' && this.#container !== undefined && this.#exitOf() === undefined;
  }

  get mounter(): MountContainer | undefined {
    return this.isRunning ? this.#container?.mounter : undefined;
  }

  get containerId(): number {
    return this.#container?.id ?? 0;
  }

  /**
   * SIGKILL to everything in the container, as by the kernel when memory runs out, or because its PID 1 ends.
   */
  endContainer(exitCode: number, message: string): void {
    const container = this.#container;
    if (container === undefined || this.#exitOf() !== undefined) return;
    container.mounter?.kill();
    container.exit = { exitCode, message };
    this.uses.clear();
  }

  /** The kubelet evicts it: Failed, though the pod stays. */
  evict(): void {
    this.endContainer(137, 'evicted');
    this.#isEvicted = true;
    this.#isReported = false;
  }

  /** Runs until the pod is removed from the node. */
  async live(): Promise<void> {
    const { steps, name } = this.node;
    while (this.#stage !== 'gone') {
      await steps.when(`kubelet ${name}: ${this.name}`, () => this.#next() !== undefined);
      await this.#next()?.();
    }
  }

  /** Returns what the kubelet does with it next; undefined: nothing. */
  #next(): Action | undefined {
    if (this.node.lives.get(this.uid) !== this) return undefined;
    const wish = this.node.wishFor(this);
    if (!this.#isReported && wish !== 'gone' && !this.node.isCutOff) return () => this.#report();
    if (this.#isEvicted) return wish === 'stay' ? undefined : () => this.#leave();
    return this.#nextOfStage(wish);
  }

  #nextOfStage(wish: PodWish): Action | undefined {
    switch (this.#stage) {
      case 'new':
        if (wish !== 'stay') return () => this.#leave();
        return this.node.canStart(this) ? () => this.#start() : undefined;
      case 'running':
        return this.isVm ? this.#nextOfVm(wish) : this.#nextOfHubPod(wish);
      case 'ended':
        return (this.node.hubs.get(this.uid)?.mounts.size ?? 0) === 0 ? () => this.#leave() : undefined;
      case 'gone':
        return undefined;
      default:
        return this.#stage satisfies never;
    }
  }

  #nextOfVm(wish: PodWish): Action | undefined {
    const hub = this.node.hubs.get(this.uid);
    if (wish !== 'stay') {
      if (this.isRunning && hub !== undefined && !hub.isGoing)
        return () => {
          this.node.steps.note(`${this.name} is marked as going`);
          hub.isGoing = true;
        };
      return () => {
        this.endContainer(0, 'stopped');
        this.#noteExit();
        this.#stage = 'ended';
        this.#isReported = false;
      };
    }
    return this.#restartOf();
  }

  #nextOfHubPod(wish: PodWish): Action | undefined {
    if (wish === 'stay') return this.#restartOf() ?? this.#sweep();
    if (!this.isRunning) return () => this.#leave();
    const mounter = this.#container?.mounter;
    if (mounter === undefined) return () => this.endContainer(0, 'stopped');
    if (!this.#isTermSent)
      return () => {
        this.#isTermSent = true;
        mounter.terminate();
      };
    return wish === 'gone' ? () => mounter.kill() : undefined;
  }

  #restartOf(): (() => void) | undefined {
    if (this.isRunning) return undefined;
    if (this.#lastExit !== this.#exitOf())
      return () => {
        this.#noteExit();
        this.#isReported = false;
      };
    return () => {
      this.#restarts += 1;
      this.#startContainer();
    };
  }

  /**
   * Does what the container of a sweeper does (volume-functions.ts): it unmounts unused volumes from the hub.
   */
  #sweep(): (() => void) | undefined {
    const { labels = {}, annotations = {} } = this.pod.metadata;
    if (labels[label.kind] !== 'attachment' || this.#container?.mounter !== undefined) return undefined;
    const hub = this.node.hubs.get(annotations[annotation.vmUid] ?? '');
    const unused = [...(hub?.mounts ?? [])].find(([, volume]) => this.node.usersOf(volume).length === 0);
    if (unused === undefined) return undefined;
    return () => {
      this.node.steps.note(`${this.name} unmounts ${unused[0]}`);
      hub?.mounts.delete(unused[0]);
    };
  }

  /** Returns the volume of a disk as the VM has it, by the disk's name there. */
  mountOf(diskName: string): string | undefined {
    const hub = this.node.hubs.get(this.uid);
    return hub === undefined ? this.volumes.get(diskName) : hub.mounts.get(diskName);
  }

  /** All volumes of disks that the VM has, by their names there. */
  get disks(): ReadonlyMap<string, string> {
    const names = [...this.volumes.keys()].filter((name) => isDiskCid(name));
    const own = names.map((name) => [name, this.volumes.get(name) ?? ''] as const);
    return new Map([...own, ...(this.node.hubs.get(this.uid)?.mounts ?? []), ...this.uses]);
  }

  #start(): void {
    for (const [claim, volume] of this.node.volumesOf(this.pod)) this.volumes.set(claim, volume);
    if (this.isVm && this.#mountsHub())
      this.node.hubs.set(this.uid, {
        vm: this.name,
        mounts: new Map(),
        directories: new Set(),
        isGoing: false,
      });
    this.#stage = 'running';
    this.#startContainer();
  }

  #startContainer(): void {
    const hub = this.node.hubs.get(this.uid);
    if (hub !== undefined) hub.isGoing = false;
    this.#isTermSent = false;
    this.#container = {
      id: this.node.newContainerId(),
      mounter: this.#newMounter(),
      exit: undefined,
    };
    this.#isReported = false;
    this.node.steps.note(`${this.name} runs on ${this.node.name} (container ${this.#container.id})`);
  }

  #newMounter(): MountContainer | undefined {
    const { labels = {}, annotations = {} } = this.pod.metadata;
    const diskCid = labels[label.diskId] ?? '';
    const volume = this.volumes.get(diskCid);
    const vmUid = annotations[annotation.vmUid] ?? '';
    if (labels[label.kind] !== 'attachment' || volume === undefined) return undefined;
    const hub = (): Hub | undefined => this.node.hubs.get(vmUid);
    return new MountContainer(
      {
        ...{ diskCid, volume, hub, steps: this.node.steps, name: this.name },
        otherVms: () => this.node.otherVms(volume, vmUid),
        users: () => this.node.usersOf(volume),
      },
      this.#scratch,
    );
  }

  /** Returns whether the pod has a hub; a pod that has its disks as volumes has none. */
  #mountsHub(): boolean {
    return (this.pod.spec.volumes ?? []).some(({ name }) => name === 'hub');
  }

  #exitOf(): ScriptOutcome | undefined {
    return this.#container?.exit ?? this.#container?.mounter?.exit;
  }

  #noteExit(): void {
    this.#lastExit = this.#exitOf();
  }

  async #leave(): Promise<void> {
    this.endContainer(137, 'taken down');
    this.node.hubs.delete(this.uid);
    this.volumes.clear();
    this.#stage = 'gone';
    this.node.steps.note(`${this.name} has left ${this.node.name}`);
    await this.node.remove(this);
  }

  #terminated(): ContainerState {
    const exit = this.#lastExit;
    return exit === undefined ? {} : { terminated: { exitCode: exit.exitCode, message: exit.message } };
  }

  #containerState(terminated: ContainerState): ContainerState {
    if (this.isRunning) return { running: { startedAt: '2026-01-01T00:00:00Z' } };
    const hasEnded = this.#stage === 'ended' || this.#isEvicted;
    return hasEnded ? terminated : { waiting: { reason: 'ContainerCreating' } };
  }

  async #report(): Promise<void> {
    this.#isReported = true;
    const isRunning = this.isRunning;
    const terminated = this.#terminated();
    const state = this.#containerState(terminated);
    const { name = '', image = '' } = this.pod.spec.containers[0] ?? {};
    const address = this.pod.metadata.annotations?.[annotation.ipAddress] ?? '127.64.9.9';
    await this.node.setStatus(this, {
      phase: this.#isEvicted ? 'Failed' : 'Running',
      podIP: address,
      podIPs: [{ ip: address }],
      containerStatuses: [
        {
          ...{ name, image, imageID: '', ready: isRunning, restartCount: this.#restarts, state },
          containerID: `sim://${this.containerId}`,
          lastState: state.terminated === undefined ? terminated : {},
        },
      ],
    });
  }
}
