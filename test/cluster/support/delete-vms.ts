import { label } from '../../../src/cpi/objects/labels.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import type { ClusterWorld } from './cluster-world.ts';

/** Calls delete_vm for each VM of the suite's namespace. */
export async function deleteVms({ api, namespace, cloud }: ClusterWorld): Promise<void> {
  const { items } = await api.list<Pod>(pods, { namespace, labelSelector: `${label.kind}=vm` });
  await Promise.all(items.map(({ metadata }) => deleteVm(cloud, [metadata.name])));
}
