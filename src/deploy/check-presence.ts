import { ProductError } from '../errors/product-error.ts';
import type { Run } from './run.ts';
import { clusterNotePathFor } from './state/cluster-note.ts';
import { cpiNotePathFor } from './state/cpi-note.ts';
import { digestNotePathFor } from './state/digest-note.ts';
import { pendingPathFor } from './state/pending-file.ts';
import { hasRecordedVm } from './vm/has-recorded-vm.ts';

/**
 * Throws OTHER_CLUSTER when the cloud has neither the recorded VM nor any of the recorded disks: a CPI that speaks to another
 * cluster or namespace than before takes both for deleted, and the run would forget them. One of them is enough, and so is
 * a CPI without has_disk. A VM without a disk may well be deleted: it is missed only when the CPI `isConfiguredOtherwise`
 * than when it was there. Changes nothing.
 */
export async function checkPresence(
  run: Pick<Run, 'cloud' | 'state'>,
  isConfiguredOtherwise: () => Promise<boolean>,
): Promise<void> {
  const { cloud, state } = run;
  const { current_vm_cid: vmCid, disks } = state.state;
  if (vmCid === '' && disks.length === 0) return;
  for (const { cid } of disks) if ((await cloud.hasDisk(cid)) !== false) return;
  if (disks.length === 0 && !(await isConfiguredOtherwise())) return;
  if (await hasRecordedVm(run)) return;
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
