import type {
  Pod,
  PodSpec,
  Toleration,
  PodCondition,
  SchedulingGate,
} from '../../../../src/kubernetes/types/pod.ts';
import {
  duplicate,
  forbiddenField,
  unsupported,
  required,
  type Cause,
  invalidValue,
} from '../../errors/field-causes.ts';
import { canonicalText, copyJson, jsonEqual } from '../../schema/json.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import type { MutableObject } from '../kind.ts';
import { checkName, duplicateIndexes, checkEnum, checkQualifiedName } from '../checks.ts';
import { checkAffinity, checkToleration, checkSpread } from './placement-validation.ts';
import { checkContainer, checkPodSecurity } from './container-validation.ts';
import { allContainers, asPod } from './pod-defaults.ts';
import { checkVolume } from './volume-validation.ts';
import { familyOf } from '../../../../src/platform/ip-address.ts';

const policies = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
const maxServers = 3;
const maxSearches = 32;

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
  const previous = new Map(allContainers(before).map((container) => [container.name, container]));
  const causes = allContainers(after).flatMap((container, index) => {
    const old = previous.get(container.name);
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

/**
 * Returns the causes for dnsPolicy and dnsConfig (pkg/apis/core/validation/validation.go,
 * validatePodDNSConfig). The embedded node has no DNS to add to.
 */
function checkDns(at: string, { dnsPolicy, dnsConfig }: PodSpec): Cause[] {
  const field = `${at}.dnsConfig`;
  const servers = dnsConfig?.nameservers ?? [];
  const searches = dnsConfig?.searches ?? [];
  return [
    ...checkEnum(`${at}.dnsPolicy`, dnsPolicy, policies),
    ...(dnsPolicy === 'None' && servers.length === 0
      ? [
          required(
            `${field}.nameservers`,
            'must provide at least one DNS nameserver when `dnsPolicy` is None',
          ),
        ]
      : []),
    ...(servers.length > maxServers
      ? [invalidValue(`${field}.nameservers`, servers, `must not have more than ${maxServers} nameservers`)]
      : []),
    ...servers.flatMap((server, index) =>
      familyOf(server) === undefined
        ? [
            invalidValue(
              `${field}.nameservers[${index}]`,
              server,
              'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            ),
          ]
        : [],
    ),
    ...(searches.length > maxSearches
      ? [invalidValue(`${field}.searches`, searches, `must not have more than ${maxSearches} search paths`)]
      : []),
    ...searches.flatMap((domain, index) =>
      checkName(`${field}.searches[${index}]`, domain.replace(/\.$/u, ''), 'subdomain'),
    ),
    ...(dnsConfig?.options ?? []).flatMap(({ name = '' }, index) =>
      name === '' ? [required(`${field}.options[${index}]`, 'must not be empty')] : [],
    ),
    ...(dnsConfig !== undefined && dnsPolicy !== 'None'
      ? [unsupported(field, 'name servers beside those of the machine: set dnsPolicy to None')]
      : []),
  ];
}

/**
 * Returns the causes for the gates of a new pod (kubernetes: pkg/apis/core/validation,
 * validateSchedulingGates and ValidatePodCreate).
 */
function checkGates(
  at: string,
  { nodeName, schedulingGates = [] }: { nodeName?: string; schedulingGates?: readonly SchedulingGate[] },
): Cause[] {
  const path = (index: number): string => `${at}.schedulingGates[${index}]`;
  const names = schedulingGates.map(({ name }) => name);
  return [
    ...names.flatMap((name, index) => checkQualifiedName(path(index), name)),
    ...[...duplicateIndexes(names)].map((index) => duplicate(path(index), names[index])),
    ...(names.length > 0 && (nodeName ?? '') !== ''
      ? [forbiddenField(`${at}.nodeName`, 'cannot be set until all schedulingGates have been cleared')]
      : []),
  ];
}

/** Returns the causes for gates that an update adds: it may only remove gates. */
function addedGates(
  at: string,
  before: readonly SchedulingGate[],
  after: readonly SchedulingGate[],
): Cause[] {
  const known = new Set(before.map(({ name }) => name));
  return after.flatMap(({ name }, index) =>
    known.has(name)
      ? []
      : [
          forbiddenField(
            `${at}.schedulingGates[${index}].name`,
            `only deletion is allowed, but found new scheduling gate '${name}'`,
          ),
        ],
  );
}

/** Returns the condition that the server sets on a new pod with gates. */
export const gatedCondition = (now: string): PodCondition => ({
  type: 'PodScheduled',
  status: 'False',
  reason: 'SchedulingGated',
  message: 'Scheduling is blocked due to non-empty scheduling gates',
  lastProbeTime: null,
  lastTransitionTime: now,
});
