import { progressPrefixes } from '../../errors/text.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { parseMilli } from '../../kubernetes/types/quantity.ts';
import type { CallContext } from '../call.ts';
import { vmContainerStatus } from '../objects/layout.ts';
import { resourcesOf } from './pod.ts';
import type { VmPlan } from './vm-spec.ts';

/**
 * Reports which limits the container of a VM has that its plan does not request, because nothing in the
 * manifest shows them. Reports nothing for a pod that has the limits of its plan. `pod` is the pod as the API
 * server returned it.
 */
export async function reportAddedLimits(call: CallContext, plan: VmPlan, pod: Pod): Promise<void> {
  const { limits: requested = {} } = resourcesOf(plan);
  const { limits = {} } = vmContainerStatus(pod.spec.containers)?.resources ?? {};
  const names = Object.keys(limits).filter(
    (name) => parseMilli(limits[name] ?? '') !== parseMilli(requested[name] ?? ''),
  );
  if (names.length === 0) return;
  const { isFromLimitRange, nameLimitRanges } = await import('../errors/limit-range.ts');
  const source = isFromLimitRange(pod)
    ? await nameLimitRanges(call.api, call.namespace, names)
    : 'an admission webhook of the cluster';
  call.reportProgress(
    `${progressPrefixes.note}the pod of VM '${plan.spec.cid}' got limits that neither cloud_properties nor defaults.resources set: ` +
      `${names.map((name) => `${name} ${limits[name] ?? ''}`).join(', ')}. They come from ${source}. A container that takes more memory ` +
      'than its limit is killed, and a pod that takes more ephemeral-storage is evicted. If you do not want these limits, set ' +
      'resources.limits in cloud_properties',
  );
}
