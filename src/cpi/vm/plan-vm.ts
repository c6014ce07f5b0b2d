import { ProductError } from '../../errors/product-error.ts';
import { type ApiError, isApiError } from '../../kubernetes/client/api-error.ts';
import { pods } from '../../kubernetes/resources.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { buildAttachmentPod } from '../disk/attach/attachment-pod-spec.ts';
import { type CallContext } from '../call.ts';
import { type AttachStrategy } from '../config/cluster-access.ts';
import { resolvePodNetworking } from '../network/pod-networking.ts';
import { requireBudget } from './disruption-budget.ts';
import { podTemplate, vmLabels } from './pod.ts';
import { volumeTerms } from './volume-affinity.ts';
import type { VmPlan, VmSpec } from './vm-spec.ts';

/**
 * Reads the facts of the cluster that the VM needs, and checks that the VM is possible there: that the
 * objects exist which its networks name, that its disks are in its zone, and that the CPI manages the
 * disruption budget of its group. Changes nothing.
 */
export async function planVm(call: CallContext, spec: VmSpec): Promise<VmPlan> {
  const networking = await resolvePodNetworking(call, spec.networks);
  const [attach, terms] = await Promise.all([
    decideStrategy(call, spec),
    volumeTerms(call, spec.diskCids, spec.properties.placement.zone),
    requireBudget(call, vmLabels(call, spec)),
  ]);
  return { spec, facts: { attach, networking, volumeTerms: terms } };
}

/**
 * Decides the attach strategy of a new VM. With `auto`, a dry run shows whether the API server would
 * admit an attachment pod in the namespace of the disks. Creates nothing. Throws NOT_SUPPORTED if the
 * strategy would be `recreate` and the disks are in another namespace, whose claims no pod of the VM can
 * mount.
 */
async function decideStrategy(call: CallContext, spec: VmSpec): Promise<AttachStrategy> {
  const { attach } = call.config.kubernetes;
  if (attach === 'hot') return 'hot';
  if (attach === 'recreate') return recreateOrThrow(call, spec, 'kubernetes.attach is recreate');
  const refusal = await attachmentRejection(call, spec);
  return refusal === undefined
    ? 'hot'
    : recreateOrThrow(call, spec, `an attachment is not admitted there: ${refusal.message}`);
}

function recreateOrThrow(call: CallContext, { cid }: VmSpec, why: string): AttachStrategy {
  const disks = call.diskNamespace;
  if (disks === call.namespace) return 'recreate';
  throw new ProductError(
    'NOT_SUPPORTED',
    `VM '${cid}' of namespace ${call.namespace} could not get disks of kubernetes.disk_namespace ${disks}: ${why}, and a pod mounts claims of its own namespace only; leave out kubernetes.disk_namespace or have the namespace admit attachments`,
  );
}

/** Returns an attachment pod as a VM of that request would have, for a dry run. */
export function plannedAttachment(
  call: Pick<CallContext, 'config' | 'namespace' | 'diskNamespace' | 'directorUuid' | 'newUuid'>,
  spec: VmSpec,
): Pod {
  // only a VM under `hot` has attachment pods, and they copy nothing that depends on the other facts
  const networking = { labels: {}, annotations: {} };
  const vm = podTemplate(call, { spec, facts: { attach: 'hot', networking, volumeTerms: [] } });
  const uid = call.newUuid();
  return buildAttachmentPod({
    diskCid: `disk-${uid}`,
    namespace: call.diskNamespace,
    vm: { ...vm, metadata: { ...vm.metadata, uid } },
    nodeName: 'any',
    kubeletRootDirectory: call.config.kubernetes.kubeletRootDirectory,
    directorUuid: call.directorUuid,
  });
}

/** Returns the permanent rejection of an attachment pod. A full quota is not permanent. */
async function attachmentRejection(call: CallContext, spec: VmSpec): Promise<ApiError | undefined> {
  try {
    await call.api.dryRunCreate(pods, plannedAttachment(call, spec));
    return undefined;
  } catch (error) {
    if (isApiError(error) && [400, 403, 422].includes(error.code)) {
      return error.message.includes('exceeded quota') ? undefined : error;
    }
    throw error;
  }
}
