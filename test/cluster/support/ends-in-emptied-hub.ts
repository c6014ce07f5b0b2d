import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { until } from '../../support/until.ts';
import { run } from '../machine/run.ts';
import type { ClusterWorld } from './cluster-world.ts';

/** A VM whose disk is bound at its hub's root goes, and its kubelet removes what is below the hub; the attachment goes, too. */
export async function endsInEmptiedHub(world: ClusterWorld, vm: string, disk: string): Promise<void> {
  await world.kubectl('delete', 'pod', vm, '--wait=false');
  const content = world.kubectlCommand([
    ...['exec', `attach-${disk}`, '--container', 'hold', '--'],
    ...['ls', '-R', '/volume'],
  ]);
  let last = '';
  await until(
    () => `the kubelet to empty the hub: ${last}`,
    async () => {
      const { exitCode, stdout, stderr } = await run(content);
      last = stderr + stdout;
      // after a power cut the holder may be starting again, and what it lists may go meanwhile
      return exitCode === 0 && !stdout.includes('canary');
    },
  );
  await deleteVm(world.cloud, [vm]);
  await world.untilGone(`attach-${disk}`);
}
