import type { CallContext } from '../call.ts';
import type { VmPlan } from './plan-vm.ts';
import type { AttachStrategy } from '../config/cluster-access.ts';
import { ProductError } from '../../errors/product-error.ts';
import { type ApiError, isApiError } from '../../kubernetes/client/api-error.ts';
import { vmPod } from './pod.ts';
import { buildAttachmentPod } from '../disk/attach/attachment-pod-spec.ts';
import { pods } from '../../kubernetes/resources.ts';

/**
 * Decides the attach strategy of a new VM. With `auto`, asks the API server by a dry run whether it would
 * admit an attachment pod in the namespace of the disks. Creates nothing. Throws NOT_SUPPORTED if the
 * strategy would be `recreate` and the disks are in another namespace, whose claims no pod of the VM can
 * mount.
 */
export async function decideStrategy(call: CallContext, plan: VmPlan): Promise<AttachStrategy> {
  const { attach } = call.config.kubernetes;
  if (attach === 'hot') return 'hot';
  if (attach === 'recreate') return recreateOrThrow(call, plan, 'kubernetes.attach is recreate');
  const refusal = await attachmentRejection(call, plan);
  return refusal === undefined
    ? 'hot'
    : recreateOrThrow(call, plan, `an attachment is not admitted there: ${refusal.message}`);
}

function recreateOrThrow(call: CallContext, { cid }: VmPlan, why: string): AttachStrategy {
  const disks = call.diskNamespace;
  if (disks === call.namespace) return 'recreate';
  throw new ProductError(
    'NOT_SUPPORTED',
    `VM '${cid}' of namespace ${call.namespace} could not get disks of kubernetes.disk_namespace ${disks}: ${why}, and a pod mounts claims of its own namespace only; leave out kubernetes.disk_namespace or have the namespace admit attachments`,
  );
}

/** Returns the permanent rejection of an attachment pod. A full quota is not permanent. */
async function attachmentRejection(call: CallContext, plan: VmPlan): Promise<ApiError | undefined> {
  const vm = vmPod(plan, '');
  const uid = call.newUuid();
  const attachment = buildAttachmentPod({
    diskCid: `disk-${uid}`,
    namespace: call.diskNamespace,
    vm: { ...vm, metadata: { ...vm.metadata, uid } },
    nodeName: 'any',
    kubeletRootDirectory: call.config.kubernetes.kubeletRootDirectory,
    directorUuid: call.directorUuid,
  });
  try {
    await call.api.dryRunCreate(pods, attachment);
    return undefined;
  } catch (error) {
    if (isApiError(error) && [400, 403, 422].includes(error.code)) {
      return error.message.includes('exceeded quota') ? undefined : error;
    }
    throw error;
  }
}
