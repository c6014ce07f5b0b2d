import { withContext } from '../error-chain.ts';
import type { Run } from '../run.ts';

/** Whether the cloud has the recorded VM; false where none is recorded. Rejects where the CPI does not say. */
export async function hasRecordedVm({ cloud, state }: Pick<Run, 'cloud' | 'state'>): Promise<boolean> {
  const { current_vm_cid: cid } = state.state;
  return cid !== '' && (await withContext(`Checking existence of VM '${cid}'`, () => cloud.hasVm(cid)));
}
