import { ProductError } from '../errors/product-error.ts';
import { planDisk, type DesiredDisk } from './disk/plan-disk.ts';
import type { Run } from './session.ts';
import type { DiskRecord } from './state/deployment-state.ts';
import { currentDisk } from './state/state-changes.ts';
import { hasRecordedVm } from './vm/delete-vm.ts';

/**
 * Throws OTHER_CLUSTER if neither the recorded VM nor any recorded disk exists in the cloud. A CPI that talks
 * to another cluster or namespace than before reports them all as deleted, and the run would forget them. One
 * existing resource is enough. The check also passes if the CPI has no has_disk. A VM without a disk may well
 * have been deleted: its absence is an error only if `cpiConfigChanged` returns true, because the CPI's
 * configuration has changed since the VM was last seen. Returns the current disk if only that is missing.
 * Changes nothing.
 */
export async function assertDeploymentIsHere(
  run: Pick<Run, 'cloud' | 'files' | 'state'>,
  cpiConfigChanged: () => Promise<boolean>,
): Promise<DiskRecord | undefined> {
  const { cloud, files, state } = run;
  const { current_vm_cid: vmCid, disks } = state.state;
  if (vmCid === '' && disks.length === 0) return undefined;
  const current = currentDisk(state.state);
  const others = disks.filter((disk) => disk !== current);
  if (current !== undefined && (await cloud.hasDisk(current.cid)) !== false) return undefined;
  for (const { cid } of others) if ((await cloud.hasDisk(cid)) !== false) return current;
  if (disks.length === 0 && !(await cpiConfigChanged())) return undefined;
  if (await hasRecordedVm(run)) return current;
  const names = [...(vmCid === '' ? [] : [`VM '${vmCid}'`]), ...disks.map(({ cid }) => `disk '${cid}'`)];
  throw new ProductError(
    'OTHER_CLUSTER',
    `The CPI finds no resource of the deployment of '${state.path}': ${names.join(', ')}; nothing was changed. ` +
      'It may use another cluster or namespace than before: check the properties of cloud_provider. ' +
      `If none of it exists any more, 'delete-env --force' removes the record, or remove ${files.paths.map((path) => `'${path}'`).join(', ')}`,
  );
}

/**
 * Throws DISK_NOT_FOUND if the manifest needs a disk that is missing. Attaching it would fail only after the
 * VM was deleted. Its data may still exist elsewhere, so no empty disk is created in its place without the
 * operator's consent.
 */
export function assertDiskExists(
  { state, path }: Run['state'],
  lost: DiskRecord,
  desired: DesiredDisk | undefined,
): void {
  if (planDisk(state, desired).action === 'none') return;
  throw new ProductError(
    'DISK_NOT_FOUND',
    `Disk '${lost.cid}' of this deployment is no longer in the cluster; nothing was changed. If its volume was kept, ` +
      'docs/recovery.md explains how to use it as the disk again. If its data is not needed, remove its record, the one with ' +
      `"cid": "${lost.cid}", from "disks" in '${path}', and run the command again: it creates an empty disk`,
  );
}
