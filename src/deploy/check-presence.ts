import { ProductError } from '../errors/product-error.ts';
import type { Run } from './run.ts';
import { clusterNotePathFor } from './state/cluster-note.ts';
import { pendingPathFor } from './state/pending-file.ts';

/**
 * Throws OTHER_CLUSTER when the cloud has neither the recorded VM nor any of the recorded disks: a CPI that speaks to another
 * cluster or namespace than before takes both for deleted, and the run would forget them. One of them is enough, and so is
 * a CPI without has_disk. Changes nothing.
 */
export async function checkPresence({ cloud, state }: Pick<Run, 'cloud' | 'state'>): Promise<void> {
  const { current_vm_cid: vmCid, disks } = state.state;
  if (disks.length === 0) return;
  for (const { cid } of disks) if ((await cloud.hasDisk(cid)) !== false) return;
  if (vmCid !== '' && (await cloud.hasVm(vmCid))) return;
  const names = [...(vmCid === '' ? [] : [`VM '${vmCid}'`]), ...disks.map(({ cid }) => `disk '${cid}'`)];
  const files = [state.path, pendingPathFor(state.path), clusterNotePathFor(state.path)];
  throw new ProductError(
    'OTHER_CLUSTER',
    `Of the deployment of '${state.path}' nothing is where the CPI looks: not ${names.join(', not ')}; nothing was changed. ` +
      'Perhaps it speaks to another cluster or namespace than before: look at the properties of cloud_provider. ' +
      `Where all of that is gone for good, 'delete-env --force' forgets it, or remove ${files.map((file) => `'${file}'`).join(', ')}`,
  );
}
