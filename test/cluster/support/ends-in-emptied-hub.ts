import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { until } from '../../support/until.ts';
import { run } from '../machine/run.ts';
import type { ClusterWorld } from './cluster-world.ts';

/**
 * Deletes a VM whose disk is mounted at its hub's root. Its kubelet removes the content of the hub, and the
 * attachment pod is deleted.
 */
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
      // After a power loss the mount container may be starting again, and files may vanish while it lists
      // them.
      return exitCode === 0 && !stdout.includes('canary');
    },
  );
  await deleteVm(world.cloud, [vm]);
  await world.untilGone(`attach-${disk}`);
}
