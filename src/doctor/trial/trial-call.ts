import { randomBytes } from 'node:crypto';
import type { CallContext } from '../../cpi/call.ts';
import { parseConfig } from '../../cpi/config/config.ts';
import { AttachmentPod } from '../../cpi/disk/attach/attachment-pod.ts';
import { deleteDisk } from '../../cpi/disk/delete-disk.ts';
import { label, type ObjectKind } from '../../cpi/objects/labels.ts';
import { deleteVm } from '../../cpi/vm/delete-vm.ts';
import { findVm, findVmSecret } from '../../cpi/vm/vms.ts';
import { isProductError } from '../../errors/product-error.ts';
import { truncateAtWord } from '../../errors/text.ts';
import type { Resource } from '../../kubernetes/api.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesObject, Stored } from '../../kubernetes/object.ts';
import { persistentVolumeClaims, pods, secrets } from '../../kubernetes/resources.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { VmNamespaces } from '../cluster/pod-admission.ts';

/**
 * The uuid of the director whose CPI the doctor is. Each object that the CPI makes for it has this uuid
 * in the label director-id, and the doctor removes no object without it.
 */
export const doctorUuid = 'bosh-kubernetes-doctor';

export interface TrialSettings extends VmNamespaces {
  readonly imagePullSecrets: readonly string[];
  /** Undefined: the default of the CPI. */
  readonly kubeletRootDirectory: string | undefined;
}

export type TrialPorts = Pick<CallContext, 'api' | 'exec' | 'clock' | 'newUuid'> & {
  readonly onProgress: (line: string) => void;
};

/** Returns the context of the doctor's calls to the methods of the CPI. */
export function trialCall(
  { namespace, diskNamespace, imagePullSecrets, kubeletRootDirectory }: TrialSettings,
  { onProgress, ...ports }: TrialPorts,
): CallContext {
  const file = {
    kubernetes: {
      ...{ namespace, disk_namespace: diskNamespace, attach: 'auto', image_pull_secrets: imagePullSecrets },
      ...(kubeletRootDirectory !== undefined && { kubelet_root_dir: kubeletRootDirectory }),
    },
    agent: { mbus: `https://doctor:${randomBytes(16).toString('hex')}@0.0.0.0:6868` },
  };
  return {
    ...ports,
    ...{ config: parseConfig(file, {}), namespace, diskNamespace, directorUuid: doctorUuid },
    ...{ log: onProgress, reportProgress: onProgress },
  };
}

/**
 * Removes the VMs of all trials in the namespaces, also those of killed runs, then their disks with all
 * data. A second trial in the namespaces therefore removes what the first uses, which then fails. Trusts
 * no name in a label: it removes only objects that have the doctor's label themselves, because a user
 * who may create pods can name any VM. Rejects with the error of delete_vm or delete_disk.
 */
export async function removeTrials(call: CallContext): Promise<void> {
  const { namespace, diskNamespace } = call;
  const vms = [
    ...(await listOfDoctor(call, secrets, namespace, 'vm')),
    ...(await listOfDoctor(call, pods, namespace, 'vm')),
  ];
  for (const vmCid of new Set(vms.map(({ metadata }) => metadata.name)))
    if (await isOfDoctor(call, vmCid)) await deleteVm(call, { vmCid });
  // These stay if the VM of a killed trial was deleted without them.
  const attachments = await listOfDoctor<Pod>(call, pods, diskNamespace, 'attachment');
  for (const attachment of attachments.map((pod) => new AttachmentPod(call, pod))) {
    await attachment.delete();
    await attachment.waitForDeletion(call.config.deadlines.deleteVm);
  }
  for (const { metadata } of await listOfDoctor(call, persistentVolumeClaims, diskNamespace, 'disk'))
    await deleteDisk(call, { diskCid: metadata.name });
}

/** Returns false if the Secret or the pod of that name, which delete_vm would delete, is not the doctor's. */
async function isOfDoctor(call: CallContext, vmCid: string): Promise<boolean> {
  const objects = await Promise.all([findVmSecret(call, vmCid), findVm(call, vmCid)]);
  return objects.every(
    (object) => object === undefined || object.metadata.labels?.[label.directorId] === doctorUuid,
  );
}

async function listOfDoctor<T extends KubernetesObject>(
  { api }: CallContext,
  resource: Resource,
  namespace: string,
  kind: ObjectKind,
): Promise<readonly Stored<T>[]> {
  const labelSelector = `${label.kind}=${kind},${label.directorId}=${doctorUuid}`;
  return (await api.list<T>(resource, { namespace, labelSelector })).items;
}

/** A message of a kubelet names the image several times. */
const maxErrorLength = 500;

/** Returns the message of an error of the product or of the API, and throws any other. */
export function messageOf(error: unknown): string {
  if (!isProductError(error) && !isApiError(error)) throw error;
  return truncateAtWord(error.message, maxErrorLength);
}
