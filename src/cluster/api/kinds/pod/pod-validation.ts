import type { Container, Pod, PodSpec, Toleration, Volume } from '../../../../kubernetes/pod.ts';
import {
  duplicate,
  forbiddenField,
  invalidValue,
  notDoneHere,
  required,
  unsupportedValue,
} from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { jsonEqual } from '../../schema/json.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import type { Draft } from '../kind.ts';
import { checkName } from '../names.ts';
import { checkContainerResources } from '../resources.ts';
import { checkAffinity, checkToleration } from './placement-validation.ts';
import { allContainers, asPod } from './pod-defaults.ts';
import { checkVolume, checkVolumeMounts } from './volume-validation.ts';

/** Causes for a pod that a real server refuses, or that asks for what the embedded node does not do. */
export function validatePod(draft: Draft): Cause[] {
  const { spec } = asPod(draft);
  const volumes = spec.volumes ?? [];
  const at = 'spec';
  return [
    ...volumes.flatMap((volume, index) => checkVolume(`${at}.volumes[${index}]`, volume)),
    ...repeated(
      volumes,
      (volume) => volume.name,
      (index) => `${at}.volumes[${index}].name`,
    ),
    ...(spec.containers.length === 0 ? [required(`${at}.containers`)] : []),
    ...(spec.initContainers ?? []).flatMap((item, i) =>
      checkContainer(`${at}.initContainers[${i}]`, item, volumes),
    ),
    ...spec.containers.flatMap((item, i) => checkContainer(`${at}.containers[${i}]`, item, volumes)),
    ...repeated(
      allContainers(spec),
      (item) => item.name,
      (index) => `${at}.containers[${index}].name`,
    ),
    ...checkPodFields(at, spec),
    ...(spec.tolerations ?? []).flatMap((item, i) => checkToleration(`${at}.tolerations[${i}]`, item)),
    ...checkAffinity(`${at}.affinity`, spec.affinity),
  ];
}

function repeated<T>(
  items: readonly T[],
  key: (item: T) => string,
  path: (index: number) => string,
): Cause[] {
  const keys = items.map(key);
  return keys.flatMap((value, index) =>
    value !== undefined && keys.indexOf(value) < index ? [duplicate(path(index), value)] : [],
  );
}

const dnsPolicies = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default'];

function checkPodFields(at: string, spec: PodSpec): Cause[] {
  const account = spec.serviceAccountName ?? spec.serviceAccount ?? 'default';
  return [
    ...oneOf(`${at}.restartPolicy`, spec.restartPolicy, ['Always', 'OnFailure', 'Never']),
    ...oneOf(`${at}.dnsPolicy`, spec.dnsPolicy, dnsPolicies),
    ...oneOf(`${at}.preemptionPolicy`, spec.preemptionPolicy, ['PreemptLowerPriority', 'Never']),
    ...(spec.hostname === undefined ? [] : checkName(`${at}.hostname`, spec.hostname, 'label')),
    ...(spec.schedulerName === 'default-scheduler'
      ? []
      : [notDoneHere(`${at}.schedulerName`, 'schedulers other than default-scheduler')]),
    ...(account === 'default' ? [] : [notDoneHere(`${at}.serviceAccountName`, 'service accounts')]),
    ...(spec.automountServiceAccountToken === true
      ? [notDoneHere(`${at}.automountServiceAccountToken`, 'service account tokens')]
      : []),
  ];
}

function oneOf(field: string, value: string | undefined, supported: readonly string[]): Cause[] {
  return value === undefined || supported.includes(value) ? [] : [unsupportedValue(field, value, supported)];
}

function checkContainer(at: string, container: Container, volumes: readonly Volume[]): Cause[] {
  const image = container.image ?? '';
  return [
    ...((container.name ?? '') === ''
      ? [required(`${at}.name`)]
      : checkName(`${at}.name`, container.name, 'label')),
    ...(image === '' ? [required(`${at}.image`)] : []),
    ...(image === image.trim()
      ? []
      : [invalidValue(`${at}.image`, image, 'must not have leading or trailing whitespace')]),
    ...oneOf(`${at}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']),
    ...oneOf(`${at}.terminationMessagePolicy`, container.terminationMessagePolicy, [
      'File',
      'FallbackToLogsOnError',
    ]),
    ...checkEnvironment(`${at}.env`, container),
    ...checkPorts(`${at}.ports`, container),
    ...checkContainerResources(`${at}.resources`, container.resources),
    ...checkVolumeMounts(`${at}.volumeMounts`, container, volumes),
    ...(container.lifecycle?.preStop !== undefined &&
    (container.lifecycle.preStop.exec?.command ?? []).length === 0
      ? [required(`${at}.lifecycle.preStop.exec.command`)]
      : []),
    ...(container.securityContext?.privileged === true &&
    container.securityContext.allowPrivilegeEscalation === false
      ? [
          invalidValue(
            `${at}.securityContext`,
            container.securityContext,
            'cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
          ),
        ]
      : []),
  ];
}

function checkEnvironment(at: string, { env }: Container): Cause[] {
  return (env ?? []).flatMap(({ name }, index) => {
    if ((name ?? '') === '') return [required(`${at}[${index}].name`)];
    const bad = /[=\0]/.test(name);
    return bad
      ? [invalidValue(`${at}[${index}].name`, name, "a valid environment variable name must not contain '='")]
      : [];
  });
}

function checkPorts(at: string, { ports }: Container): Cause[] {
  return (ports ?? []).flatMap((port, index) => [
    ...(port.containerPort === undefined ? [required(`${at}[${index}].containerPort`)] : []),
    ...(port.containerPort === undefined || (port.containerPort >= 1 && port.containerPort <= 65_535)
      ? []
      : [
          invalidValue(
            `${at}[${index}].containerPort`,
            port.containerPort,
            'must be between 1 and 65535, inclusive',
          ),
        ]),
    ...(port.hostPort === undefined ? [] : [notDoneHere(`${at}[${index}].hostPort`, 'host ports')]),
    ...oneOf(`${at}[${index}].protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']),
  ]);
}

const immutableText =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Of a pod's spec only tolerations can grow; the node here does not replace the image of a running container. */
export function validatePodUpdate(draft: Draft, current: StoredObject): Cause[] {
  const after = structuredClone(asPod(draft).spec);
  const before = (current as unknown as Pod).spec;
  const causes = allContainers(after).flatMap((container, index) => {
    const old = allContainers(before).find(({ name }) => name === container.name);
    if (old === undefined || old.image === container.image) return [];
    container.image = old.image;
    return [notDoneHere(`spec.containers[${index}].image`, 'changes of the image of a running container')];
  });
  if (keepsTolerations(before.tolerations ?? [], after.tolerations ?? [])) {
    if (before.tolerations === undefined) delete after.tolerations;
    else after.tolerations = before.tolerations;
  }
  return jsonEqual(before, after) ? causes : [...causes, forbiddenField('spec', immutableText)];
}

function keepsTolerations(before: readonly Toleration[], after: readonly Toleration[]): boolean {
  return before.every((old) => after.some((kept) => jsonEqual(old, kept)));
}
