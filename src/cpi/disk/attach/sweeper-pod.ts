import type { Container, Pod } from '../../../kubernetes/pod.ts';
import type { AttachmentPlan } from './attachment-pod.ts';
import { attachmentPod } from './attachment-pod.ts';
import { sweepScript } from './sweep-script.ts';

/**
 * Returns the pod that removes leftover mounts from a VM's hub: an attachment pod without a disk, named after
 * the VM, so that policies and controllers treat it like the VM's attachment pods.
 */
export function sweeperPod(plan: Omit<AttachmentPlan, 'diskCid'>): Pod {
  const pod = attachmentPod({ ...plan, diskCid: plan.vm.metadata.name ?? '' });
  const { containers, volumes = [] } = pod.spec;
  const sweeping = (container: Container): Container => ({
    ...container,
    command: (container.command ?? []).map((word, index) => (index === 2 ? sweepScript : word)),
    volumeMounts: (container.volumeMounts ?? []).filter(({ name }) => name !== 'volume'),
  });
  return {
    ...pod,
    spec: {
      ...pod.spec,
      terminationGracePeriodSeconds: 30,
      containers: containers.map(sweeping),
      volumes: volumes.filter(({ name }) => name !== 'volume'),
    },
  };
}
