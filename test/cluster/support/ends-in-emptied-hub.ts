import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { until } from '../../support/until.ts';
import type { ClusterWorld } from './cluster-world.ts';

/** A VM whose disk is bound at its hub's root goes, and its kubelet removes what is below the hub; the attachment goes, too. */
export async function endsInEmptiedHub(world: ClusterWorld, vm: string, disk: string): Promise<void> {
  await world.kubectl('delete', 'pod', vm, '--wait=false');
  const content = ['exec', `attach-${disk}`, '--container', 'hold', '--', 'ls', '-R', '/volume'];
  await until('the kubelet to empty the hub', async () => {
    return !(await world.kubectl(...content)).includes('canary');
  });
  await deleteVm(world.cloud, [vm]);
  await world.untilGone(`attach-${disk}`);
}
