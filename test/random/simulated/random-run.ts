import type fc from 'fast-check';
import { isProductError } from '../../../src/errors/product-error.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { TokenKey } from '../../../embedded-cluster/api-server/tokens/json-web-token.ts';
import type { CallContext } from '../../../src/cpi/call.ts';
import { type CallVerb, verbOf } from '../../../src/cpi/testing/verb-of.ts';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { createDisk } from '../../../src/cpi/disk/create-disk.ts';
import { createVm } from '../../../src/cpi/vm/create-vm.ts';
import { createVmArguments, createVmRequest } from '../../../src/cpi/testing/test-cloud.ts';
import { argumentsOf } from './arguments-of.ts';
import { cleanUp } from './clean-up.ts';
import { doFault } from './faults.ts';
import { KillableProcess } from './killable-process.ts';
import { Disk, Oracle } from './oracle.ts';
import type { Plan, PlannedCall, PlannedStep, VerbName } from './plan.ts';
import { classNames, SimulatedWorld } from './simulated-world.ts';
import { Steps } from './steps.ts';
import type { CreateVmRequest } from '../../../src/cpi/protocol/methods.ts';

export interface Outcome {
  readonly violations: readonly string[];
  readonly trace: readonly string[];
  readonly calls: number;
}

/** A call and its time: two calls overlap if their times do. */
interface CallRecord {
  readonly planned: PlannedCall;
  readonly begin: number;
  end: number;
  readonly disk: Disk;
}

const mostSteps = 40_000;

export interface RunOptions {
  readonly journal: string;
  readonly tokenKey: TokenKey;
  /** Verbs that replace those of the CPI, to check that their bugs are found. */
  readonly instead?: Partial<Record<VerbName, CallVerb>>;
}

/**
 * Makes one run of a plan from an empty cluster to an empty cluster, in the order that the scheduler chooses.
 */
export async function randomRun(plan: Plan, scheduler: fc.Scheduler, options: RunOptions): Promise<Outcome> {
  const steps = new Steps(scheduler);
  const world = new SimulatedWorld({ ...options, steps, hasAttacher: plan.hasAttacher });
  const run = new RandomRun(plan, world, options.instead);
  try {
    await run.do();
  } finally {
    await world.stop();
  }
  return { violations: run.oracle.violations, trace: steps.trace, calls: run.calls };
}

class RandomRun {
  readonly oracle: Oracle;
  calls = 0;
  readonly #plan: Plan;
  readonly #instead: NonNullable<RunOptions['instead']>;
  readonly #world: SimulatedWorld;
  readonly #vmCids: string[] = [];
  /** The cids by the number of the disk in the plan: the cid that its owner would use. */
  readonly #diskCids: string[] = [];
  readonly #records: CallRecord[] = [];
  readonly #stopped: { readonly process: KillableProcess; left: number }[] = [];
  #time = 0;
  #faults = 0;

  constructor(plan: Plan, world: SimulatedWorld, instead: RunOptions['instead'] = {}) {
    this.#plan = plan;
    this.#instead = instead;
    this.#world = world;
    this.oracle = new Oracle(world);
  }

  async do(): Promise<void> {
    await this.#drive('preparation', () => this.#prepare());
    const { steps } = this.#world;
    steps.trace.length = 0;
    for (const [index, cid] of this.#diskCids.entries()) steps.note(`disk ${index} is ${cid}`);
    steps.isHasty = true;
    await this.#drive('calls', () => this.#callAll());
    steps.isHasty = false;
    if (this.oracle.violations.length > 0) return;
    await this.#drive('clean-up', () =>
      cleanUp(this.#world, {
        ...{ oracle: this.oracle, vmCids: this.#vmCids },
        report: (summary) => this.oracle.report(summary),
      }),
    );
  }

  /** Lets steps happen until the action is done. */
  async #drive(what: string, action: () => Promise<void>): Promise<void> {
    let isOver = false;
    const done = action().finally(() => (isOver = true));
    // it is awaited below, when no step is left
    done.catch(() => undefined);
    const check = (): void => this.oracle.check();
    const hasEnded = await this.#world.steps.runUntil(
      () => isOver || this.oracle.violations.length > 0,
      check,
      mostSteps,
    );
    if (isOver) await done;
    if (!hasEnded) this.oracle.report(`${what}: not done, and nothing happens any more`);
  }

  async #prepare(): Promise<void> {
    await this.#world.start();
    const { cloud } = this.#world;
    for (const vm of [0, 1]) {
      const [cid] = await createVm(this.#cloudOf(vm, cloud), this.#vmRequest(vm));
      this.#vmCids.push(cid);
    }
    for (let attempts = 2; attempts > 0; attempts -= 1) {
      const cid = await createDisk(cloud, { sizeMiB: 64, cloudProperties: { storage_class: classNames[0] } });
      this.#diskCids.push(cid);
      this.oracle.disks.push(new Disk(cid));
    }
    if (!this.#plan.isAttached) return;
    const [vmCid = '', diskCid = ''] = [this.#vmCids[0], this.#diskCids[0]];
    const hint = await attachDisk(cloud, { vmCid, diskCid });
    const [disk] = this.oracle.disks;
    if (disk !== undefined) this.#attached(vmCid, disk, hint);
  }

  #cloudOf(vm: number, cloud: CallContext): CallContext {
    const attach = this.#plan.strategies[vm] ?? 'hot';
    return { ...cloud, config: { ...cloud.config, kubernetes: { ...cloud.config.kubernetes, attach } } };
  }

  #vmRequest(vm: number): CreateVmRequest {
    const networks = { default: { type: 'manual', ip: `127.64.0.1${vm}`, netmask: '255.255.255.0' } };
    const zone = this.#plan.isOneNode || vm === 0 ? 'z1' : 'z2';
    return createVmRequest({ agentId: `agent-${vm}`, networks, properties: { zone } });
  }

  async #callAll(): Promise<void> {
    const callers = this.#plan.callers.map((steps, caller) => this.#callOneAfterTheOther(caller, steps));
    await Promise.all(callers);
    for (const stopped of this.#stopped) this.#continue(stopped);
    await this.#world.steps.when('the last calls end', () =>
      this.#records.every(({ end }) => end !== Number.POSITIVE_INFINITY),
    );
  }

  async #callOneAfterTheOther(caller: number, steps: readonly PlannedStep[]): Promise<void> {
    for (const [index, step] of steps.entries()) {
      const name = 'fault' in step ? step.fault : step.verb;
      await this.#world.steps.step(`caller ${caller}.${index}: ${name} vm ${step.vm} disk ${step.disk}`);
      if (this.#isRefused(step)) continue;
      if ('fault' in step) {
        this.#faults += 1;
        await doFault(this.#world, step.fault, this.#subjects(step));
      } else await this.#call(`call ${caller}.${index} ${step.verb}`, step);
    }
  }

  /**
   * Returns whether a step must be skipped. No call for another VM sees the leftover mount of a force-deleted
   * attachment pod, so the disk must be detached there before it is attached elsewhere, as a director does.
   */
  #isRefused(step: PlannedStep): boolean {
    const { vmCid, disk } = this.#subjects(step);
    if ('fault' in step) {
      if (step.fault !== 'delete the attachment by force') return false;
      const isBeingAttached = this.#records.some(
        ({ planned, disk: other, end }) =>
          planned.verb === 'attach_disk' && other === disk && end === Number.POSITIVE_INFINITY,
      );
      if (isBeingAttached) return true;
      for (const cid of this.#vmCids) if (this.oracle.hasDisk(cid, disk)) disk.leftIn.add(cid);
      return false;
    }
    return step.verb === 'attach_disk' && [...disk.leftIn].some((cid) => cid !== vmCid);
  }

  #subjects({ vm, disk }: PlannedStep): { vmCid: string; disk: Disk; diskCid: string } {
    const known = this.oracle.disks[disk];
    if (known === undefined) throw new Error(`the plan has no disk ${disk}`);
    return { vmCid: this.#vmCids[vm] ?? '', disk: known, diskCid: this.#diskCids[disk] ?? '' };
  }

  /** Resolves when the caller goes on: after the response, or when the process was killed or stopped. */
  async #call(name: string, planned: PlannedCall): Promise<void> {
    this.calls += 1;
    const { vmCid, disk, diskCid } = this.#subjects(planned);
    if (planned.verb === 'detach_disk' && planned.isPolite) this.oracle.untell(vmCid, disk);
    const process = new KillableProcess(name, this.#world, planned.fate);
    const record: CallRecord = { planned, disk, begin: this.#tick(), end: Number.POSITIVE_INFINITY };
    this.#records.push(record);
    const faultsBefore = this.#faults;
    const cloud = process.cloudOf(this.#cloudOf(planned.vm, this.#world.cloud));
    const verb = this.#instead[planned.verb] ?? verbOf(planned.verb);
    const work = verb(cloud, this.#argumentsOf(planned, vmCid, diskCid));
    const answered = process
      .answer((value) => JSON.stringify(value), work)
      .then(
        (value) => this.#answered(record, { value, isQuiet: faultsBefore === this.#faults, diskCid }),
        (error: unknown) => this.#failed(record, error),
      );
    const killed = process.whenKilled.then(() => this.#end(record));
    const stopped = process.whenStopped.then(() => {
      this.#stopped.push({ process, left: planned.stoppedFor });
    });
    await Promise.race([answered, killed, stopped]);
  }

  #argumentsOf(planned: PlannedCall, vmCid: string, diskCid: string): readonly unknown[] {
    return argumentsOf(planned, {
      ...{ vmCid, diskCid, vmArguments: createVmArguments(this.#vmRequest(planned.vm)) },
      ...{ diskSizeMiB: 64, storageClass: classNames[planned.vm] ?? '' },
    });
  }

  #answered(
    record: CallRecord,
    { value, isQuiet, diskCid }: { value: unknown; isQuiet: boolean; diskCid: string },
  ): void {
    this.#end(record);
    const { planned, disk } = record;
    const vmCid = this.#vmCids[planned.vm] ?? '';
    switch (planned.verb) {
      case 'attach_disk':
        disk.names.add(nameInHint(String(value)));
        this.#judgeAttach(record, vmCid, isQuiet);
        this.#attached(vmCid, disk, String(value));
        break;
      case 'detach_disk':
        this.#judgeDetach(record, vmCid, 'success');
        disk.leftIn.delete(vmCid);
        this.oracle.untell(vmCid, disk);
        break;
      case 'delete_disk':
        this.#judgeDeletion(record, diskCid);
        break;
      case 'update_disk':
        if (typeof value === 'string') {
          disk.names.add(value);
          this.#diskCids[planned.disk] = value;
        }
        break;
      case 'delete_vm':
        for (const each of this.oracle.disks) each.leftIn.delete(vmCid);
        break;
      case 'create_vm':
      case 'has_vm':
      case 'reboot_vm':
      case 'set_vm_metadata':
        break;
      default:
        planned.verb satisfies never;
    }
  }

  #failed(record: CallRecord, error: unknown): void {
    this.#end(record);
    const { planned } = record;
    if (planned.verb === 'detach_disk' && isProductError(error, 'DISK_NOT_ATTACHED'))
      this.#judgeDetach(record, this.#vmCids[planned.vm] ?? '', 'DISK_NOT_ATTACHED');
    if (isProductError(error) || isApiError(error)) return;
    this.oracle.report(`${planned.verb} fails with ${error instanceof Error ? error.stack : String(error)}`);
  }

  /** Gives the disk to the agent. It gets the disk only if its director still waits for the response. */
  #attached(vmCid: string, disk: Disk, hint: string): void {
    const name = nameInHint(hint);
    disk.names.add(name);
    this.oracle.tell(vmCid, name, disk);
  }

  #judgeAttach(record: CallRecord, vmCid: string, isQuiet: boolean): void {
    const { disk, begin } = record;
    const deletion = this.#records.find(
      ({ planned, disk: other, end }) => planned.verb === 'delete_disk' && other === disk && end < begin,
    );
    if (disk.isDeleted && deletion !== undefined)
      this.oracle.report('attach_disk answers success for a disk that delete_disk had deleted before');
    const meets = this.#meets(record, () => true);
    const isRunning = this.oracle.livesOf(vmCid).some((life) => life.isRunning);
    if (!isQuiet || meets || !isRunning || this.oracle.hasDisk(vmCid, disk)) return;
    this.oracle.report('attach_disk answers success, and the disk is not mounted in the VM');
  }

  #judgeDetach(record: CallRecord, vmCid: string, answer: string): void {
    const { disk } = record;
    const isSame = ({ planned, disk: other }: CallRecord): boolean =>
      planned.verb === 'attach_disk' && other === disk && planned.vm === record.planned.vm;
    if (this.#meets(record, isSame) || !this.oracle.hasDisk(vmCid, disk)) return;
    this.oracle.report(`detach_disk answers ${answer}, and the VM has the disk`);
  }

  #judgeDeletion(record: CallRecord, diskCid: string): void {
    const { disk } = record;
    const isOther = ({ planned, disk: other }: CallRecord): boolean =>
      other === disk && ['attach_disk', 'update_disk'].includes(planned.verb);
    if (this.#meets(record, isOther)) return;
    disk.isDeleted = true;
    for (const vmCid of this.#vmCids)
      if (this.oracle.hasDisk(vmCid, disk))
        this.oracle.report(`delete_disk of ${diskCid} answers success, and ${vmCid} has the disk`);
  }

  /** Returns whether another call of that kind overlapped with this one. */
  #meets(record: CallRecord, isMeant: (other: CallRecord) => boolean): boolean {
    return this.#records.some(
      (other) => other !== record && other.begin < record.end && other.end > record.begin && isMeant(other),
    );
  }

  #end(record: CallRecord): void {
    if (record.end !== Number.POSITIVE_INFINITY) return;
    record.end = this.#tick();
    for (const stopped of this.#stopped) {
      stopped.left -= 1;
      if (stopped.left === 0) this.#continue(stopped);
    }
  }

  #continue({ process }: { process: KillableProcess }): void {
    process.continue();
  }

  #tick(): number {
    this.#time += 1;
    return this.#time;
  }
}

/** Returns the name of the disk in the VM: that of its claim. */
const nameInHint = (hint: string): string => hint.split('/').at(-2) ?? '';
