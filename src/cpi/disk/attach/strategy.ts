import type { KubernetesObject, Stored } from '../../../kubernetes/object.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import type { CallContext } from '../../call.ts';
import type { AttachStrategy } from '../../config/cluster-access.ts';
import { annotation } from '../../objects/labels.ts';
import { vmNotFound } from '../../vm/vms.ts';
import type { PersistentVolumeClaim } from '../disks.ts';

/**
 * Reads the strategy from a VM's pod or Secret. A VM that was made before the strategy was recorded is hot.
 */
export function strategyOf({ metadata }: KubernetesObject): AttachStrategy {
  return metadata.annotations?.[annotation.attach] === 'recreate' ? 'recreate' : 'hot';
}

/** Attaches disks to one VM and detaches them, in the way of the strategy that the VM was created with. */
export interface DiskAttacher {
  /**
   * Attaches the disk of that claim and returns the disk hint, a path in the VM. Rolls back on failure.
   * Idempotent.
   */
  readonly attach: (claim: Stored<PersistentVolumeClaim>) => Promise<string>;
  /**
   * Detaches a disk that has no attachment pod of this VM. `isElsewhere`: it has an attachment pod of another
   * VM. Rejects with DISK_NOT_ATTACHED if the disk is not on the VM. Idempotent.
   */
  readonly detach: (diskCid: string, isElsewhere: boolean) => Promise<void>;
  /** Returns the cids of the attached disks. */
  readonly disks: () => Promise<string[]>;
}

/**
 * Returns the attacher of a VM, given its pod if it has one. Loads the module of one strategy. Rejects with
 * VM_NOT_FOUND. Under `recreate` an existing VM may have no pod at the moment, but it has its Secret.
 */
export async function diskAttacher(
  call: CallContext,
  vmCid: string,
  pod: Stored<Pod> | undefined,
): Promise<DiskAttacher> {
  if (pod !== undefined && strategyOf(pod) === 'hot') {
    const { HotAttacher } = await import('./hot.ts');
    return new HotAttacher(call, pod);
  }
  const { RecreateAttacher, findRecreateStrategyVm } = await import('./recreate.ts');
  const vm = await findRecreateStrategyVm(call, vmCid, pod);
  if (vm === undefined) throw vmNotFound(call, vmCid);
  return new RecreateAttacher(call, vm);
}
