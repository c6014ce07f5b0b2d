import { bindExit } from '../../../src/cpi/disk/attach/scripts/hold.ts';
import { releaseExit, mountFailedExit } from '../../../src/cpi/disk/attach/scripts/volume-functions.ts';
import type { Steps } from './steps.ts';

/** The tmpfs of a VM in which attachment pods mount disks. */
export interface Hub {
  readonly vm: string;
  /** The volume that is mounted as that disk. */
  readonly mounts: Map<string, string>;
  /** Disks that are or were mounted there, until a release has run to its end. */
  readonly directories: Set<string>;
  /** The VM's preStop hook has left its marker. */
  isGoing: boolean;
}

/** The view that a mount container has of its node. */
export interface MountContainerView {
  readonly diskCid: string;
  readonly volume: string;
  readonly steps: Steps;
  /** The hub of its VM; undefined: the kubelet has removed it. */
  readonly hub: () => Hub | undefined;
  /** Other VMs with processes on the node whose hub has the volume. */
  readonly otherVms: () => readonly string[];
  /** The users that have the volume mounted anywhere but in a hub. */
  readonly users: () => readonly string[];
  readonly name: string;
}

/** The files that outlive the container in its pod: /scratch. */
export interface Scratch {
  isEnded: boolean;
  /** detach_disk has released the disk: it is not mounted in this attachment pod any more. */
  isReleased: boolean;
  /**
   * The highest mark of an attach_disk that had the disk mounted; 0: adopted from an earlier attachment pod;
   * undefined: neither.
   */
  mark: number | undefined;
}

export interface ScriptOutcome {
  readonly exitCode: number;
  readonly message: string;
}

const busyExit = 16;

/**
 * The mount container of an attachment pod as in hold.ts, hold.ts and volume-functions.ts. A kill
 * ends it between any two steps.
 */
export class MountContainer {
  readonly #view: MountContainerView;
  readonly #scratch: Scratch;
  #hasTrap = false;
  #isEnding = false;
  #isLocked = false;
  /** Its own bind has finished: scripts of the CPI wait for that. */
  #isReady = false;
  #exit: ScriptOutcome | undefined;

  constructor(view: MountContainerView, scratch: Scratch) {
    this.#view = view;
    this.#scratch = scratch;
    void this.#hold();
  }

  /** Undefined while it runs. */
  get exit(): ScriptOutcome | undefined {
    return this.#exit;
  }

  /** SIGTERM. It ends the container if the shell has no trap yet. */
  terminate(): void {
    if (this.#hasTrap) this.#isEnding = true;
    else this.#end(143, 'terminated before its trap');
  }

  /** SIGKILL. */
  kill(): void {
    this.#end(137, 'killed');
  }

  /** Runs hold.ts by exec. Undefined: the container has ended during the run. */
  async bind(mark: number): Promise<ScriptOutcome | undefined> {
    await this.#ready();
    return this.#locked(() => Promise.resolve(this.#bind(mark)));
  }

  /** Runs endUnlessBoundScript by exec. Returns undefined if the container ended during the run. */
  async endUnlessBound(): Promise<ScriptOutcome | undefined> {
    await this.#ready();
    return this.#locked(() => {
      const { diskCid, volume, hub } = this.#view;
      if (hub()?.mounts.get(diskCid) === volume) return Promise.resolve({ exitCode: busyExit, message: '' });
      this.#scratch.isEnded = true;
      return Promise.resolve({ exitCode: 0, message: '' });
    });
  }

  /**
   * Runs volume-functions.ts by exec, which tries twice. Undefined: the container has ended during the run.
   */
  async release(seenMark: number): Promise<ScriptOutcome | undefined> {
    await this.#ready();
    for (const isLast of [false, true]) {
      const outcome = await this.#locked(() => this.#release(seenMark));
      if (outcome === undefined || outcome.exitCode !== busyExit || isLast) return outcome;
      await this.#view.steps.when(`${this.#view.name}: release looks again`, () => true);
    }
    return undefined;
  }

  async #hold(): Promise<void> {
    const { steps, name, hub } = this.#view;
    await steps.when(`${name}: sets its trap`, () => true);
    if (this.#exit !== undefined) return;
    this.#hasTrap = true;
    this.#scratch.isEnded = false;
    await steps.when(`${name}: binds`, () => !this.#isLocked);
    if (this.#exit !== undefined) return;
    const bound = this.#bind();
    if (bound.exitCode !== 0) return this.#end(bound.exitCode, bound.message);
    this.#isReady = true;
    let isOut = false;
    for (;;) {
      const isRequested = (): boolean => this.#isEnding || (hub()?.isGoing ?? true);
      const isUseful = (): boolean => this.#isEnding || (hub()?.mounts.has(this.#view.diskCid) ?? false);
      const isFree = (): boolean => !this.#isLocked && this.#view.users().length === 0;
      await steps.when(
        `${name}: lets go`,
        () => this.#exit !== undefined || (isRequested() ? isUseful() && isFree() : isOut && !this.#isLocked),
      );
      if (!isRequested()) {
        isOut = false;
        const again = await this.#locked(() => Promise.resolve(this.#bind()));
        if (again === undefined) return;
        if (again.exitCode !== 0) return this.#end(1, again.message);
        continue;
      }
      const wasAsked = this.#isEnding;
      const outcome = await this.#locked(() => this.#release());
      if (outcome === undefined) return;
      if (outcome.exitCode === 0 && wasAsked) return this.#end(0, '');
      isOut ||= outcome.exitCode === 0;
    }
  }

  /** Waits for the hub like untilReadyIn of volume-functions.ts. */
  async #ready(): Promise<void> {
    if (this.#isReady || this.#exit !== undefined) return;
    await this.#view.steps.when(
      `${this.#view.name}: is ready`,
      () => this.#isReady || this.#exit !== undefined,
    );
  }

  /** Runs an action under the lock that bind and release share; undefined if the container has ended. */
  async #locked(action: () => Promise<ScriptOutcome | undefined>): Promise<ScriptOutcome | undefined> {
    const { steps, name } = this.#view;
    if (this.#isLocked)
      await steps.when(`${name}: takes the lock`, () => !this.#isLocked || this.#exit !== undefined);
    if (this.#exit !== undefined) return undefined;
    this.#isLocked = true;
    const outcome = await action();
    this.#isLocked = false;
    return this.#exit === undefined ? outcome : undefined;
  }

  /** Mounts the disk. Without a mark it is the container's own start. */
  #bind(mark?: number): ScriptOutcome {
    const { diskCid, volume, hub, otherVms } = this.#view;
    const cannot = (message: string): ScriptOutcome => ({ exitCode: mountFailedExit, message });
    const done = { exitCode: 0, message: '' };
    if (mark === undefined && this.#scratch.isReleased) return done;
    if (mark === undefined && this.#scratch.mark === undefined) {
      if (hub()?.mounts.get(diskCid) === volume) this.#scratch.mark = 0;
      return done;
    }
    if (this.#scratch.isReleased) return { exitCode: bindExit.released, message: '' };
    if (this.#scratch.isEnded) return cannot('the attachment is ending');
    const there = hub();
    if (there === undefined) return cannot('the hub of the VM is not a tmpfs of its own');
    const present = there.mounts.get(diskCid);
    const note = (): void => void (this.#scratch.mark = Math.max(this.#scratch.mark ?? 0, mark ?? 0));
    if (present === volume) {
      note();
      return done;
    }
    if (present !== undefined) return cannot('another volume is mounted there');
    if (otherVms().length > 0) return cannot(`it is still mounted in another VM: ${otherVms().join()}`);
    note();
    there.directories.add(diskCid);
    there.mounts.set(diskCid, volume);
    this.#view.steps.note(`${diskCid} is mounted in the hub of ${there.vm}`);
    return done;
  }

  /** Unmounts the disk. `seenMark`: the mark that a detach_disk knows of. */
  async #release(seenMark?: number): Promise<ScriptOutcome | undefined> {
    const { diskCid, volume, hub, users, steps, name } = this.#view;
    const busy = (): ScriptOutcome => ({ exitCode: busyExit, message: users().join('\n') });
    if (seenMark !== undefined && (this.#scratch.mark ?? 0) > seenMark)
      return { exitCode: releaseExit.attachedAgain, message: '' };
    if (hub()?.mounts.get(diskCid) !== volume) return this.#endInterrupted(busy(), seenMark);
    if (users().length > 0) return busy();
    await steps.when(`${name}: unmounts`, () => true);
    if (this.#exit !== undefined) return undefined;
    hub()?.mounts.delete(diskCid);
    steps.note(`${diskCid} is unmounted from the hub of ${hub()?.vm ?? 'no VM'}`);
    await steps.when(`${name}: looks for users again`, () => true);
    if (this.#exit !== undefined) return undefined;
    if (users().length === 0) return this.#letGo(seenMark);
    hub()?.mounts.set(diskCid, volume);
    return busy();
  }

  /** Completes a release of a volume that is not mounted in the hub. */
  #endInterrupted(busy: ScriptOutcome, seenMark: number | undefined): ScriptOutcome {
    const { diskCid, volume, hub, users } = this.#view;
    if (hub()?.directories.has(diskCid) !== true || users().length === 0) return this.#letGo(seenMark);
    if (seenMark === undefined) return busy;
    this.#scratch.mark ??= 0;
    hub()?.mounts.set(diskCid, volume);
    return busy;
  }

  #letGo(seenMark: number | undefined): ScriptOutcome {
    this.#view.hub()?.directories.delete(this.#view.diskCid);
    if (seenMark !== undefined) this.#scratch.isReleased = true;
    if (this.#isEnding) this.#scratch.isEnded = true;
    return { exitCode: 0, message: '' };
  }

  #end(exitCode: number, message: string): void {
    if (this.#exit !== undefined) return;
    this.#view.steps.note(`${this.#view.name} ends with ${exitCode} ${message}`);
    this.#exit = { exitCode, message };
    this.#isLocked = false;
  }
}
