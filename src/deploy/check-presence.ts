import { ProductError } from '../errors/product-error.ts';
import { planDisk, type WantedDisk } from './disk/plan-disk.ts';
import type { Run } from './run.ts';
import { clusterNotePathFor } from './state/cluster-note.ts';
import { cpiNotePathFor } from './state/cpi-note.ts';
import type { DiskRecord } from './state/deployment-state.ts';
import { digestNotePathFor } from './state/digest-note.ts';
import { pendingPathFor } from './state/pending-file.ts';
import { currentDisk } from './state/state-changes.ts';
import { hasRecordedVm } from './vm/has-recorded-vm.ts';

/**
 * Throws OTHER_CLUSTER when the cloud has neither the recorded VM nor any of the recorded disks: a CPI that speaks to another
 * cluster or namespace than before takes both for deleted, and the run would forget them. One of them is enough, and so is
 * a CPI without has_disk. A VM without a disk may well be deleted: it is missed only when the CPI `isConfiguredOtherwise`
 * than when it was there. Resolves with the current disk where that alone is missing. Changes nothing.
 */
export async function assertDeploymentIsHere(
  run: Pick<Run, 'cloud' | 'state'>,
  isConfiguredOtherwise: () => Promise<boolean>,
): Promise<DiskRecord | undefined> {
  const { cloud, state } = run;
  const { current_vm_cid: vmCid, disks } = state.state;
  if (vmCid === '' && disks.length === 0) return undefined;
  const current = currentDisk(state.state);
  const others = disks.filter((disk) => disk !== current);
  if (current !== undefined && (await cloud.hasDisk(current.cid)) !== false) return undefined;
  for (const { cid } of others) if ((await cloud.hasDisk(cid)) !== false) return current;
  if (disks.length === 0 && !(await isConfiguredOtherwise())) return undefined;
  if (await hasRecordedVm(run)) return current;
  const names = [...(vmCid === '' ? [] : [`VM '${vmCid}'`]), ...disks.map(({ cid }) => `disk '${cid}'`)];
  const files = [clusterNotePathFor, cpiNotePathFor, digestNotePathFor, pendingPathFor].map((pathFor) =>
    pathFor(state.path),
  );
  throw new ProductError(
    'OTHER_CLUSTER',
    `Of the deployment of '${state.path}' nothing is where the CPI looks: not ${names.join(', not ')}; nothing was changed. ` +
      'Perhaps it speaks to another cluster or namespace than before: look at the properties of cloud_provider. ' +
      `Where all of that is gone for good, 'delete-env --force' forgets it, or remove ${[state.path, ...files].map((file) => `'${file}'`).join(', ')}`,
  );
}

/**
 * Throws DISK_NOT_FOUND for a missing disk that the manifest wants: attaching it would fail once the VM was deleted. Its data may
 * be there still, so that no empty disk is made in its place unasked.
 */
export function assertDiskExists(
  { state, path }: Run['state'],
  lost: DiskRecord,
  wanted: WantedDisk | undefined,
): void {
  if (planDisk(state, wanted).action === 'none') return;
  throw new ProductError(
    'DISK_NOT_FOUND',
    `Disk '${lost.cid}' of this deployment is no longer in the cluster; nothing was changed. Where its volume was kept, ` +
      'docs/operating.md says how that becomes the disk again. Where its data is given up, remove its record, the one with ' +
      `"cid": "${lost.cid}", from "disks" in '${path}', and run the command again: it makes an empty disk`,
  );
}
