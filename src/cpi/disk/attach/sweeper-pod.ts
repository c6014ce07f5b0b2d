import type { Container, Pod } from '../../../kubernetes/pod.ts';
import type { AttachmentPlan } from './attachment-pod.ts';
import { attachmentPod } from './attachment-pod.ts';
import { sweepScript, sweepStart } from './sweep-script.ts';

/**
 * The pod that takes what attachments left out of a VM's hub: an attachment of no disk, named after the VM, so that
 * whatever admits and ends attachments does so with it.
 */
export function sweeperPod(plan: Omit<AttachmentPlan, 'diskCid'>): Pod {
  const pod = attachmentPod({ ...plan, diskCid: plan.vm.metadata.name ?? '' });
  const { initContainers = [], containers, volumes = [] } = pod.spec;
  const running =
    (script: string) =>
    (container: Container): Container => ({
      ...container,
      command: (container.command ?? []).map((word, index) => (index === 2 ? script : word)),
      volumeMounts: (container.volumeMounts ?? []).filter(({ name }) => name !== 'volume'),
    });
  return {
    ...pod,
    spec: {
      ...pod.spec,
      terminationGracePeriodSeconds: 30,
      initContainers: initContainers.map(running(sweepStart)),
      containers: containers.map(running(sweepScript)),
      volumes: volumes.filter(({ name }) => name !== 'volume'),
    },
  };
}
