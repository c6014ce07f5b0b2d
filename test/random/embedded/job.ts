import { setTimeout as delay } from 'node:timers/promises';
import type { EmbeddedWorld } from '../../../src/cpi/testing/embedded-world.ts';

/** The data that jobs have written to a disk, whatever claim it has. */
export class WrittenDisk {
  /** The cids by which callers and nodes know it; the current one is the last. */
  readonly names: string[];
  /** Numbers that a job has written and synced to the disk. */
  readonly acknowledged = new Set<number>();
  readonly jobs = new Set<Job>();
  isDeleted = false;

  constructor(cid: string) {
    this.names = [cid];
  }

  get cid(): string {
    return this.names.at(-1) ?? '';
  }

  know(name: string): void {
    if (!this.names.includes(name)) this.names.unshift(name);
  }
}

const pauseMs = 40;
let numbers = 0;

export interface JobTarget {
  readonly vmCid: string;
  /** The name of the disk in the VM. */
  readonly name: string;
  readonly disk: WrittenDisk;
}

/**
 * A job of a VM that got a disk from its agent: it writes one number after the other, each synced to the
 * disk, until it is stopped.
 */
export class Job {
  readonly vmCid: string;
  readonly disk: WrittenDisk;
  readonly #name: string;
  readonly #world: EmbeddedWorld;
  readonly #report: (message: string) => void;
  readonly #since = numbers;
  #lastWrite = 0;
  #isStopped = false;
  readonly #work: Promise<void>;

  private constructor(world: EmbeddedWorld, parts: JobTarget, report: (message: string) => void) {
    this.#world = world;
    this.vmCid = parts.vmCid;
    this.disk = parts.disk;
    this.#name = parts.name;
    this.#report = report;
    this.disk.jobs.add(this);
    this.#work = this.#writeOn();
  }

  /** Starts a job; `stop` ends it. */
  static start(world: EmbeddedWorld, parts: JobTarget, report: (message: string) => void): Job {
    return new Job(world, parts, report);
  }

  /** Ends the job, and unmounts the disk as the agent does. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.disk.jobs.delete(this);
    await this.#work;
    await this.#inVm(`! mountpoint -q ${this.#store} || umount ${this.#store}`);
  }

  async #writeOn(): Promise<void> {
    while (!this.#isStopped) {
      numbers += 1;
      const number = numbers;
      const hint = `/warden-cpi-dev/disks/${this.#name}/store`;
      // Another job of this VM may unmount the store at any time. A write below it is no write to the disk.
      const script = `mkdir -p ${this.#store} && { mountpoint -q ${this.#store} || mount --bind ${hint} ${this.#store}; } &&
        cd ${this.#store} && [ . -ef ${hint} ] && echo ${number} >> log && sync log`;
      if (await this.#inVm(script)) this.#written(number);
      await delay(pauseMs);
    }
  }

  #written(number: number): void {
    this.disk.acknowledged.add(number);
    for (const other of this.disk.jobs) {
      if (other === this || other.vmCid === this.vmCid) continue;
      // both have written since both have the disk
      if (other.#lastWrite > Math.max(this.#since, other.#since) && this.#lastWrite > other.#since)
        this.#report(`disk ${this.#name} is written in ${this.vmCid} and in ${other.vmCid}`);
    }
    this.#lastWrite = number;
  }

  get #store(): string {
    return `/var/vcap/data/store-${this.#name}`;
  }

  /** Returns false if the script failed, or the VM does not run. */
  async #inVm(script: string): Promise<boolean> {
    return this.#world.exec(this.vmCid, 'bosh', ['/bin/sh', '-c', script]).then(
      ({ exitCode }) => exitCode === 0,
      () => false,
    );
  }
}
