import type { Pod, PodSpec, Toleration } from '../../../../src/kubernetes/types/pod.ts';
import { duplicate, forbiddenField, unsupported, required, type Cause } from '../../errors/field-causes.ts';
import { canonicalText, copyJson, jsonEqual } from '../../schema/json.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import type { MutableObject } from '../kind.ts';
import { checkName } from '../names.ts';
import { duplicateIndexes } from '../repeated-places.ts';
import { checkAffinity, checkToleration } from './placement-validation.ts';
import { checkSpread } from './spread-validation.ts';
import { checkDns } from './dns-validation.ts';
import { checkContainer } from './container-validation.ts';
import { checkEnum } from './one-of.ts';
import { addedGates, checkGates } from './scheduling-gates.ts';
import { checkPodSecurity } from './security-validation.ts';
import { allContainers, asPod } from './pod-defaults.ts';
import { checkVolume } from './volume-validation.ts';

/**
 * Returns the causes for a pod that a real server rejects, or that needs a feature that the embedded node
 * does not have.
 */
export function validatePod(draft: MutableObject): Cause[] {
  const { spec } = asPod(draft);
  const volumes = spec.volumes ?? [];
  const volumeNames = new Set(volumes.map(({ name }) => name));
  const { hostNetwork = false } = spec;
  const pod = { volumeNames, hostNetwork };
  const at = 'spec';
  return [
    ...volumes.flatMap((volume, index) => checkVolume(`${at}.volumes[${index}]`, volume)),
    ...duplicates(
      volumes,
      (volume) => volume.name,
      (index) => `${at}.volumes[${index}].name`,
    ),
    ...(spec.containers.length === 0 ? [required(`${at}.containers`)] : []),
    ...(spec.initContainers ?? []).flatMap((item, i) =>
      checkContainer(`${at}.initContainers[${i}]`, item, pod),
    ),
    ...spec.containers.flatMap((item, i) => checkContainer(`${at}.containers[${i}]`, item, pod)),
    ...duplicates(
      allContainers(spec),
      (item) => item.name,
      (index) => `${at}.containers[${index}].name`,
    ),
    ...checkPodFields(at, spec),
    ...checkPodSecurity(`${at}.securityContext`, spec),
    ...(spec.tolerations ?? []).flatMap((item, i) => checkToleration(`${at}.tolerations[${i}]`, item)),
    ...checkAffinity(`${at}.affinity`, spec.affinity),
    ...checkSpread(`${at}.topologySpreadConstraints`, spec.topologySpreadConstraints),
  ];
}

function duplicates<T>(
  items: readonly T[],
  key: (item: T) => string,
  path: (index: number) => string,
): Cause[] {
  const keys = items.map(key);
  return [...duplicateIndexes(keys)].flatMap((index) =>
    keys[index] === undefined ? [] : [duplicate(path(index), keys[index])],
  );
}

function checkPodFields(at: string, spec: PodSpec): Cause[] {
  const account = spec.serviceAccountName ?? '';
  return [
    ...checkEnum(`${at}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']),
    ...checkDns(at, spec),
    ...checkGates(at, spec),
    ...checkEnum(`${at}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']),
    ...(spec.hostname === undefined ? [] : checkName(`${at}.hostname`, spec.hostname, 'label')),
    ...(spec.schedulerName === 'default-scheduler'
      ? []
      : [unsupported(`${at}.schedulerName`, 'schedulers other than default-scheduler')]),
    ...(account === '' ? [] : checkName(`${at}.serviceAccountName`, account, 'subdomain')),
  ];
}

const immutableFieldsMessage =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/**
 * Returns the causes for changes of a pod's spec: only tolerations may be added and scheduling gates removed.
 * Unlike in Kubernetes, images may not change, because the node does not replace the image of a running
 * container.
 */
export function validatePodUpdate(draft: MutableObject, current: StoredObject): Cause[] {
  const after = copyJson(asPod(draft).spec);
  const before = (current as unknown as Pod).spec;
  const former = new Map(allContainers(before).map((container) => [container.name, container]));
  const causes = allContainers(after).flatMap((container, index) => {
    const old = former.get(container.name);
    if (old === undefined || old.image === container.image) return [];
    container.image = old.image;
    return [unsupported(`spec.containers[${index}].image`, 'changes of the image of a running container')];
  });
  if (tolerationsUnchanged(before.tolerations ?? [], after.tolerations ?? [])) {
    if (before.tolerations === undefined) delete after.tolerations;
    else after.tolerations = before.tolerations;
  }
  causes.push(...addedGates('spec', before.schedulingGates ?? [], after.schedulingGates ?? []));
  delete after.schedulingGates;
  const { schedulingGates: _, ...rest } = before;
  return jsonEqual(rest, after) ? causes : [...causes, forbiddenField('spec', immutableFieldsMessage)];
}

function tolerationsUnchanged(before: readonly Toleration[], after: readonly Toleration[]): boolean {
  const kept = new Set(after.map(canonicalText));
  return before.every((old) => kept.has(canonicalText(old)));
}
