import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { strategyOf } from '../../../src/cpi/disk/attach/strategy.ts';
import type { PodLife } from './pod-life.ts';
import type { SimulatedWorld } from './simulated-world.ts';

/** A disk as its owner sees it, whatever claim it has. */
export class Disk {
  /** The cids by which callers and nodes know it. */
  readonly names = new Set<string>();
  /** The last write of a job while it was allowed to use the disk. */
  lastWrite = 0;
  /** delete_disk has succeeded. */
  isDeleted = false;
  /** Another program has deleted one of its claims: the loss of its data is not an error of the CPI. */
  isGivenUp = false;
  /** The VMs that may still have it since another program force-deleted its attachment pod. */
  readonly leftIn = new Set<string>();

  constructor(cid: string) {
    this.names.add(cid);
  }
}

export class Violation extends Error {}

const writesAtOnce = 2;

/**
 * Checks the guarantees for the operator. The agents do what a director requests: jobs write to a disk from
 * the success of attach_disk until a detach_disk is about to begin, whenever the VM runs and the disk is
 * mounted in it.
 */
export class Oracle {
  readonly violations: string[] = [];
  readonly disks: Disk[] = [];
  readonly #world: SimulatedWorld;
  /**
   * The disks of each VM's agent, by the disk's name in the VM. The key is the object that keeps the agent's
   * state.
   */
  readonly #attached = new Map<string, { readonly vmCid: string; readonly disks: Map<string, Disk> }>();
  readonly #writesLeft = new Map<string, number>();
  #writes = 0;

  constructor(world: SimulatedWorld) {
    this.#world = world;
    void this.#runJobs();
  }

  report(message: string): void {
    if (this.violations.includes(message)) return;
    this.#world.steps.note(`VIOLATION: ${message}`);
    this.violations.push(message);
  }

  /** VMs that are on some node, whether or not their containers run. */
  livesOf(vmCid: string): PodLife[] {
    return this.#lives().filter(({ name }) => name === vmCid);
  }

  /** attach_disk has succeeded: the director informs the agent, if it runs. */
  tell(vmCid: string, diskName: string, disk: Disk): void {
    for (const life of this.livesOf(vmCid).filter(({ isRunning }) => isRunning)) {
      const key = stateOf(life.pod);
      const vm = this.#attached.get(key) ?? { vmCid, disks: new Map<string, Disk>() };
      vm.disks.set(diskName, disk);
      this.#attached.set(key, vm);
      this.#writesLeft.set(`${key} ${diskName}`, writesAtOnce);
    }
  }

  /**
   * The director informs the agent of a VM that a disk will be detached: its jobs have stopped, and it has
   * unmounted the disk.
   */
  untell(vmCid: string, disk: Disk): void {
    for (const name of disk.names) {
      for (const vm of this.#attached.values()) if (vm.vmCid === vmCid) vm.disks.delete(name);
      for (const life of this.livesOf(vmCid)) life.uses.delete(name);
    }
  }

  /** Returns whether a VM that is not terminating has the disk, or will have it after its restart. */
  hasDisk(vmCid: string, disk: Disk): boolean {
    return this.livesOf(vmCid).some(
      (life) => life.stage === 'running' && [...life.disks.keys()].some((name) => disk.names.has(name)),
    );
  }

  /** Checks a condition that must hold at each moment. */
  check(): void {
    const owners = new Map<string, PodLife>();
    for (const life of this.#lives()) {
      if (!life.isRunning) continue;
      for (const [name, volume] of life.uses) {
        const other = owners.get(volume);
        owners.set(volume, life);
        if (other !== undefined && other !== life)
          this.report(`disk ${name} is used in two VMs at once: ${other.name} and ${life.name}`);
      }
    }
  }

  #lives(): PodLife[] {
    return this.#world.nodes.flatMap(({ lives }) => [...lives.values()]).filter(({ isVm }) => isVm);
  }

  async #runJobs(): Promise<never> {
    for (;;) {
      await this.#world.steps.when('jobs', () => this.#nextJob() !== undefined);
      this.#nextJob()?.();
    }
  }

  #nextJob(): (() => void) | undefined {
    for (const life of this.#lives()) {
      if (!life.isRunning) continue;
      for (const [name, disk] of this.#attached.get(stateOf(life.pod))?.disks ?? []) {
        const volume = life.mountOf(name);
        if (!life.uses.has(name) && volume !== undefined) return () => this.#use(life, name, volume, disk);
        const used = life.uses.get(name);
        const key = `${stateOf(life.pod)} ${name}`;
        if (used !== undefined && (this.#writesLeft.get(key) ?? 0) > 0)
          return () => {
            this.#writesLeft.set(key, (this.#writesLeft.get(key) ?? 0) - 1);
            this.#write(life, name, used, disk);
          };
      }
    }
    return undefined;
  }

  #use(life: PodLife, name: string, volume: string, disk: Disk): void {
    const { volumes } = this.#world.storage;
    const found = volumes.get(volume);
    if (!disk.isGivenUp && (found ?? -1) < disk.lastWrite)
      this.report(
        `disk ${name} in ${life.name} has ${found === undefined ? 'no volume' : `write ${found}`}, and write ${disk.lastWrite} was acknowledged`,
      );
    life.uses.set(name, volume);
    this.#write(life, name, volume, disk);
  }

  #write(life: PodLife, name: string, volume: string, disk: Disk): void {
    this.#writes += 1;
    this.#world.storage.volumes.set(volume, this.#writes);
    disk.lastWrite = this.#writes;
    this.#world.steps.note(`${life.name} writes ${this.#writes} to ${name}`);
  }
}

/**
 * Returns the object that keeps the agent's state: the pod or, if the pod is recreated for disks, the Secret
 * that owns the VM's claims.
 */
function stateOf(pod: Pod): string {
  const { uid = '', ownerReferences = [] } = pod.metadata;
  return strategyOf(pod) === 'recreate' ? (ownerReferences[0]?.uid ?? '') : uid;
}
