import { withContext } from '../error-chain.ts';
import type { Run } from '../run.ts';

/**
 * Returns true if the recorded VM exists in the cloud, false if none is recorded. Rejects if the CPI cannot
 * tell.
 */
export async function hasRecordedVm({ cloud, state }: Pick<Run, 'cloud' | 'state'>): Promise<boolean> {
  const { current_vm_cid: cid } = state.state;
  return cid !== '' && (await withContext(`Checking existence of VM '${cid}'`, () => cloud.hasVm(cid)));
}
