import { isProductError } from '../../../src/errors/product-error.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import type { CallContext } from '../../../src/cpi/call.ts';
import { attachmentPodName } from '../../../src/cpi/objects/names.ts';
import type { EmbeddedWorld } from '../../../src/cpi/testing/embedded-world.ts';
import { createVmArguments, createVmRequest, namespace } from '../../../src/cpi/testing/test-cloud.ts';
import { argumentsOf } from '../simulated/arguments-of.ts';
import { KillableProcess } from '../simulated/killable-process.ts';
import type { FaultName, Plan, PlannedCall, PlannedStep } from '../simulated/plan.ts';
import { verbOf } from '../../../src/cpi/testing/verb-of.ts';
import type { CpiProcesses, Outcome } from './cpi-processes.ts';
import { Job, WrittenDisk } from './job.ts';
import { killDiskUsers } from './kill-disk-users.ts';
import type { Turnstile } from './turnstile.ts';
import type { CreateVmRequest } from '../../../src/cpi/protocol/methods.ts';

export interface EmbeddedRunOptions {
  readonly plan: Plan;
  /** Distinguishes the VMs of this run from those of other runs. */
  readonly number: number;
  readonly world: EmbeddedWorld;
  readonly turnstile: Turnstile;
  readonly processes: CpiProcesses;
}

interface CallRecord {
  readonly planned: PlannedCall;
  readonly disk: WrittenDisk;
  hasEnded: boolean;
  /** Calls that overlapped with this one. */
  readonly met: Set<CallRecord>;
}

interface Subjects {
  readonly vmCid: string;
  readonly disk: WrittenDisk;
}

const cleaningRounds = 4;
const notThere = ['DISK_NOT_ATTACHED', 'VM_NOT_FOUND', 'DISK_NOT_FOUND'] as const;

/** One plan on real pods of the embedded cluster, from two new VMs and disks until they are deleted. */
export class EmbeddedRun {
  readonly violations: string[] = [];
  calls = 0;
  /** The number of acknowledged writes. */
  get writes(): number {
    return this.#disks.reduce((sum, { acknowledged }) => sum + acknowledged.size, 0);
  }

  readonly #options: EmbeddedRunOptions;
  readonly #vmCids: string[] = [];
  readonly #disks: WrittenDisk[] = [];
  readonly #records: CallRecord[] = [];
  readonly #pending = new Set<Promise<void>>();
  readonly #stopped: { readonly process: KillableProcess; remaining: number }[] = [];
  /** Disks whose attachment pod was force-deleted, with the VM that may still have them. */
  readonly #leftover = new Map<WrittenDisk, string>();

  constructor(options: EmbeddedRunOptions) {
    this.#options = options;
  }

  async do(): Promise<void> {
    for (const vm of [0, 1]) {
      const [cid] = (await verbOf('create_vm')(
        this.#cloudOf(vm),
        createVmArguments(this.#vmRequest(vm)),
      )) as [string];
      this.#vmCids.push(cid);
      const disk = await verbOf('create_disk')(this.#cloudOf(0), [16, { storage_class: 'now' }, null]);
      this.#disks.push(new WrittenDisk(String(disk)));
    }
    const callers = this.#options.plan.callers.map((steps) => this.#callOneAfterTheOther(steps));
    await Promise.all(callers);
    for (const { process } of this.#stopped) this.#continue(process);
    await Promise.all(this.#pending);
    await this.#cleanUp();
  }

  #report(message: string): void {
    this.#options.turnstile.steps.note(`VIOLATION: ${message}`);
    this.violations.push(message);
  }

  #cloudOf(vm: number): CallContext {
    return this.#options.world.cloudWith({ attach: this.#options.plan.strategies[vm] ?? 'hot' });
  }

  #vmRequest(vm: number): CreateVmRequest {
    const { number } = this.#options;
    const ip = `127.64.${200 + (Math.floor(number / 100) % 50)}.${2 * (number % 100) + vm + 1}`;
    const networks = { default: { type: 'manual', ip, netmask: '255.255.255.0' } };
    return createVmRequest({ agentId: `run-${number}-${vm}`, networks });
  }

  #subjects({ vm, disk }: PlannedStep): Subjects {
    const known = this.#disks[disk];
    if (known === undefined) throw new Error(`the plan has no disk ${disk}`);
    return { vmCid: this.#vmCids[vm] ?? '', disk: known };
  }

  async #callOneAfterTheOther(steps: readonly PlannedStep[]): Promise<void> {
    for (const step of steps) {
      const subjects = this.#subjects(step);
      if ('fault' in step) await this.#doFault(step.fault, subjects);
      else await this.#call(step, subjects);
    }
  }

  async #call(planned: PlannedCall, subjects: Subjects): Promise<void> {
    const { vmCid, disk } = subjects;
    const isElsewhere = this.#leftover.has(disk) && this.#leftover.get(disk) !== vmCid;
    if (planned.verb === 'attach_disk' && isElsewhere) return;
    if (planned.verb === 'detach_disk' && planned.isPolite) await this.#stopJobs(vmCid, disk);
    this.calls += 1;
    const record: CallRecord = { planned, disk, hasEnded: false, met: new Set() };
    for (const other of this.#records.filter(({ hasEnded }) => !hasEnded)) {
      other.met.add(record);
      record.met.add(other);
    }
    const wasDeleted = disk.isDeleted;
    this.#records.push(record);
    const { goesOn, ended } = this.#send(planned, subjects);
    const judged = ended
      .then((outcome) => this.#judge(record, { ...subjects, outcome, wasDeleted }))
      .finally(() => this.#end(record));
    this.#pending.add(judged);
    await Promise.race([judged, goesOn]);
  }

  /**
   * `ended` resolves with the result, or with undefined if the call was killed; `goesOn` resolves when its
   * caller stops waiting.
   */
  #send(
    planned: PlannedCall,
    subjects: Subjects,
  ): { goesOn: Promise<void>; ended: Promise<Outcome | undefined> } {
    const { verb, fate, vm } = planned;
    const args = this.#argumentsOf(planned, subjects);
    const { turnstile, processes } = this.#options;
    const name = `${verb} ${subjects.vmCid} ${subjects.disk.cid}`;
    if (fate.counts === 'requests' && fate.killedAfter !== undefined && fate.stoppedBefore === undefined) {
      const attach = this.#options.plan.strategies[vm] ?? 'hot';
      turnstile.steps.note(`${name}: a process that is killed`);
      const ended = processes.killedCall({ method: verb, args, attach, afterMs: 40 * fate.killedAfter });
      return { ended, goesOn: ended.then(() => undefined) };
    }
    const process = new KillableProcess(name, turnstile, fate);
    const work = verbOf(verb)(process.cloudOf(this.#cloudOf(vm)), args);
    const answered = process
      .answer((value) => JSON.stringify(value), work)
      .then(
        (value): Outcome => ({ value }),
        (error: unknown): Outcome => ({ error }),
      );
    const stopped = process.whenStopped.then(() => {
      this.#stopped.push({ process, remaining: planned.stoppedFor });
    });
    const ended = Promise.race([answered, process.whenKilled.then(() => undefined)]);
    return { ended, goesOn: Promise.race([stopped, process.whenKilled]) };
  }

  #argumentsOf(planned: PlannedCall, { vmCid, disk }: Subjects): readonly unknown[] {
    const { vm } = planned;
    return argumentsOf(planned, {
      ...{ vmCid, diskCid: disk.cid, vmArguments: createVmArguments(this.#vmRequest(vm)) },
      ...{ diskSizeMiB: 16, storageClass: vm === 0 ? 'now' : 'other' },
    });
  }

  async #judge(
    record: CallRecord,
    { vmCid, disk, outcome, wasDeleted }: Subjects & { outcome: Outcome | undefined; wasDeleted: boolean },
  ): Promise<void> {
    if (outcome === undefined) return;
    const { verb } = record.planned;
    if ('error' in outcome) return this.#judgeFailure(record, { vmCid, disk }, outcome.error);
    const { value } = outcome;
    if (verb === 'attach_disk')
      return this.#judgeAttach(record, { vmCid, disk }, { hint: String(value), wasDeleted });
    if (verb === 'update_disk' && typeof value === 'string') disk.names.push(value);
    if (verb === 'delete_disk' && !meets(record, ['attach_disk', 'update_disk'])) disk.isDeleted = true;
    if (verb === 'delete_vm') for (const each of this.#disks) await this.#letGo(vmCid, each);
    if (verb === 'detach_disk') {
      await this.#judgeDetach(record, { vmCid, disk }, 'success');
      await this.#letGo(vmCid, disk);
    }
    return undefined;
  }

  async #judgeFailure(record: CallRecord, subjects: Subjects, error: unknown): Promise<void> {
    const { verb } = record.planned;
    if (verb === 'detach_disk' && isProductError(error, 'DISK_NOT_ATTACHED'))
      await this.#judgeDetach(record, subjects, 'DISK_NOT_ATTACHED');
    else if (!isProductError(error) && !isApiError(error))
      this.#report(`${verb} fails with ${error instanceof Error ? error.stack : String(error)}`);
  }

  async #judgeAttach(
    record: CallRecord,
    { vmCid, disk }: Subjects,
    { hint, wasDeleted }: { hint: string; wasDeleted: boolean },
  ): Promise<void> {
    if (wasDeleted)
      return this.#report('attach_disk answers success for a disk that delete_disk had deleted before');
    const name = hint.split('/').at(-2) ?? '';
    disk.know(name);
    const expected = [...disk.acknowledged];
    const outcome = await this.#inVm(vmCid, `[ ! -e ${hint}/log ] || cat ${hint}/log; test -d ${hint}`);
    // another call that runs at the same time may change the VM or the disk, so only a call without overlaps
    // is judged
    if (outcome === undefined || outcome.exitCode !== 0) {
      const isAlone = [...record.met].every(({ hasEnded }) => hasEnded) && record.met.size === 0;
      if (isAlone && outcome !== undefined)
        this.#report('attach_disk answers success, and the disk is not there');
      return undefined;
    }
    const found = new Set(outcome.stdout.split('\n').map(Number));
    const lost = expected.filter((number) => !found.has(number));
    if (lost.length > 0)
      this.#report(
        `disk ${name} in ${vmCid} lacks ${lost.length} writes that were acknowledged: ${lost.slice(0, 5).join()}`,
      );
    Job.start(this.#options.world, { vmCid, name, disk }, (message) => this.#report(message));
    return undefined;
  }

  async #judgeDetach(record: CallRecord, { vmCid, disk }: Subjects, answer: string): Promise<void> {
    const names = disk.names.map((name) => `-e '${name}/store ' -e '/disks/${name} ' -e 'store-${name} '`);
    const outcome = await this.#inVm(vmCid, `grep ${names.join(' ')} /proc/self/mountinfo`);
    const isAttachedSince = meets(record, ['attach_disk', 'create_vm']);
    if (outcome?.exitCode !== 0 || isAttachedSince) return;
    this.#report(`detach_disk of ${disk.cid} answers ${answer}, and ${vmCid} has it: ${outcome.stdout}`);
  }

  /** Returns undefined if the VM does not run. */
  async #inVm(vmCid: string, script: string): Promise<{ exitCode: number; stdout: string } | undefined> {
    return this.#options.world.exec(vmCid, 'bosh', ['/bin/sh', '-c', script]).catch(() => undefined);
  }

  async #stopJobs(vmCid: string, disk: WrittenDisk): Promise<void> {
    for (const job of [...disk.jobs]) if (job.vmCid === vmCid) await job.stop();
  }

  async #letGo(vmCid: string, disk: WrittenDisk): Promise<void> {
    if (this.#leftover.get(disk) === vmCid) this.#leftover.delete(disk);
    await this.#stopJobs(vmCid, disk);
  }

  async #doFault(fault: FaultName, { vmCid, disk }: Subjects): Promise<void> {
    const attachment = attachmentPodName(disk.cid);
    this.#options.turnstile.steps.note(`${fault}: ${vmCid} ${disk.cid}`);
    switch (fault) {
      case 'kill the container of the VM':
        return this.#options.world.killContainer(vmCid).catch(() => undefined);
      case 'kill the container of the attachment':
        return killDiskUsers(disk.cid);
      case 'delete the attachment':
        return this.#remove(attachment);
      case 'delete the attachment by force': {
        const isBeingAttached = this.#records.some(
          ({ planned, disk: other, hasEnded }) =>
            planned.verb === 'attach_disk' && other === disk && !hasEnded,
        );
        if (isBeingAttached) return undefined;
        const [job] = disk.jobs;
        if (job !== undefined) this.#leftover.set(disk, job.vmCid);
        return this.#remove(attachment, 0);
      }
      case 'delete the pod of the VM':
        return this.#remove(vmCid);
      default:
        // no node is lost here, and the loss of a claim that another program deletes is not an error of the
        // CPI
        return undefined;
    }
  }

  async #remove(name: string, gracePeriodSeconds?: number): Promise<void> {
    const options = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    try {
      await this.#options.world.api.delete({ resource: pods, namespace, name }, options);
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  #end(record: CallRecord): void {
    record.hasEnded = true;
    for (const stopped of this.#stopped) {
      stopped.remaining -= 1;
      if (stopped.remaining === 0) this.#continue(stopped.process);
    }
  }

  #continue(process: KillableProcess): void {
    process.continue();
    this.#options.turnstile.open();
  }

  /** Repeats the same calls until all succeed. They must succeed in the end. */
  async #cleanUp(): Promise<void> {
    for (const disk of this.#disks) for (const job of [...disk.jobs]) await job.stop();
    let failures: string[] = [];
    for (let remaining = cleaningRounds; remaining > 0; remaining -= 1) {
      failures = await this.#cleanOnce();
      if (failures.length === 0) return;
    }
    this.#report(`never comes to an end: ${failures.join('; ')}`);
  }

  async #cleanOnce(): Promise<string[]> {
    const cloud = this.#cloudOf(0);
    const failures: string[] = [];
    const attempt = async (method: string, ...args: string[]): Promise<void> => {
      try {
        await verbOf(method)(cloud, args);
      } catch (error) {
        if (notThere.some((code) => isProductError(error, code))) return;
        if (!isProductError(error) && !isApiError(error)) throw error;
        failures.push(`${method} ${args.join(' ')}: ${error.message}`);
      }
    };
    for (const disk of this.#disks)
      for (const cid of disk.names)
        for (const vmCid of this.#vmCids) await attempt('detach_disk', vmCid, cid);
    await Promise.all(this.#vmCids.map((vmCid) => attempt('delete_vm', vmCid)));
    for (const disk of this.#disks) for (const cid of disk.names) await attempt('delete_disk', cid);
    return failures;
  }
}

const meets = ({ met }: CallRecord, verbs: readonly string[]): boolean =>
  [...met].some(({ planned }) => verbs.includes(planned.verb));
