import { ProductError } from '../../errors/product-error.ts';
import type { Field } from '../../platform/field.ts';
import { readOwnJson } from '../../platform/read-own-json.ts';
import { removeDurably, writeDurably } from '../durable-file.ts';

/** A create_vm call that may have reached the cloud. */
export interface PendingVm {
  /** The next run calls create_vm with this id again, so that it gets the existing VM. */
  readonly agent_id: string;
  /** SHA-256 of the other arguments of create_vm. */
  readonly arguments_sha256: string;
  /**
   * The CPI's response. It is on disk before the state file has the VM's cid, so that a run can tell whether
   * the recorded VM is this one.
   */
  readonly cid?: string;
}

/** A create_disk call whose response has not been recorded. */
export interface PendingDisk {
  readonly id: string;
  /** MiB. */
  readonly size: number;
  readonly vm_cid: string;
  readonly requested_at: string;
}

export interface Pending {
  readonly vm?: PendingVm;
  readonly disks: readonly PendingDisk[];
}

const nothingPending: Pending = { disks: [] };

/**
 * The requests to the cloud whose results are not yet recorded in the state file. They are stored in
 * `<state>.pending` beside the state file, because bosh's format has no key for them. The file is absent if
 * nothing is pending.
 */
export class PendingFile {
  readonly path: string;
  #pending: Pending;

  private constructor(path: string, pending: Pending) {
    this.path = path;
    this.#pending = pending;
  }

  static async open(statePath: string): Promise<PendingFile> {
    return new PendingFile(pendingPathFor(statePath), await readPending(statePath));
  }

  get pending(): Pending {
    return this.#pending;
  }

  async setVm(vm: PendingVm | undefined): Promise<void> {
    const { disks } = this.#pending;
    await this.#write(vm === undefined ? { disks } : { vm, disks });
  }

  async addDisk(disk: PendingDisk): Promise<void> {
    await this.#write({ ...this.#pending, disks: [...this.#pending.disks, disk] });
  }

  async removeDisk(id: string): Promise<void> {
    await this.#write({ ...this.#pending, disks: this.#pending.disks.filter((disk) => disk.id !== id) });
  }

  async remove(): Promise<void> {
    await removeDurably(this.path);
    this.#pending = nothingPending;
  }

  async #write(pending: Pending): Promise<void> {
    if (pending.vm === undefined && pending.disks.length === 0) return this.remove();
    await writeDurably(this.path, `${JSON.stringify(pending, null, 2)}\n`);
    this.#pending = pending;
  }
}

export function pendingPathFor(statePath: string): string {
  return `${statePath}.pending`;
}

/** Reads the pending file beside a state file without changing anything. */
export async function readPending(statePath: string): Promise<Pending> {
  const path = pendingPathFor(statePath);
  return (
    (await readOwnJson(path, parsePending, (problem, cause) => invalid(path, problem, cause))) ??
    nothingPending
  );
}

function invalid(path: string, problem: string, cause: unknown): ProductError {
  return new ProductError(
    'STATE_INVALID',
    `File '${path}' is not what the deployer wrote: ${problem}; the file names a VM or disk that may exist, so restore it or look for them before you remove it`,
    { cause },
  );
}

function parsePending(file: Field): Pending {
  const vm = file.get('vm').optional();
  return {
    ...(vm !== undefined && { vm: parsePendingVm(vm) }),
    disks: file.get('disks').required().list().map(parsePendingDisk),
  };
}

function parsePendingVm(vm: Field): PendingVm {
  const cid = vm.get('cid').optional()?.string();
  return {
    agent_id: vm.get('agent_id').string(),
    arguments_sha256: vm.get('arguments_sha256').string(),
    ...(cid !== undefined && { cid }),
  };
}

const parsePendingDisk = (disk: Field): PendingDisk => ({
  id: disk.get('id').string(),
  size: disk.get('size').integer(),
  vm_cid: disk.get('vm_cid').string(),
  requested_at: disk.get('requested_at').string(),
});
