import type {
  Container,
  Pod,
  PodSpec,
  ProjectedVolume,
  Toleration,
  Volume,
} from '../../../../src/kubernetes/types/pod.ts';
import type { MutableObject } from '../kind.ts';
import { parseQuantity } from '../quantity.ts';

/**
 * Returns the draft of a pod with its type; the decoder has checked the types of its fields.
 * `spec.containers` may be missing.
 */
export function asPod(draft: MutableObject): Pod {
  const pod = draft as unknown as Pod;
  pod.spec ??= { containers: [] };
  pod.spec.containers ??= [];
  return pod;
}

/** Sets the defaults of pkg/apis/core/v1/defaults.go. */
export function fillPodDefaults(draft: MutableObject): void {
  const { spec } = asPod(draft);
  spec.restartPolicy ??= 'Always';
  spec.dnsPolicy ??= 'ClusterFirst';
  spec.terminationGracePeriodSeconds ??= 30;
  if (spec.terminationGracePeriodSeconds < 0) spec.terminationGracePeriodSeconds = 1;
  spec.schedulerName ??= 'default-scheduler';
  if (spec.schedulingGates?.length === 0) delete spec.schedulingGates;
  // The default in Kubernetes is true. The node here sets no environment variables for Services.
  spec.enableServiceLinks ??= false;
  spec.securityContext ??= {};
  for (const container of allContainers(spec)) fillContainerDefaults(container);
  if (spec.hostNetwork === true) fillHostPorts(spec);
  for (const volume of spec.volumes ?? []) fillVolumeDefaults(volume);
}

/** On the host's network, a container's port is a port of the host. */
function fillHostPorts(spec: PodSpec): void {
  for (const container of allContainers(spec)) {
    for (const port of container.ports ?? []) port.hostPort ??= port.containerPort;
  }
}

function fillVolumeDefaults(volume: Volume): void {
  if (Object.keys(volume).length === 1) volume.emptyDir = {};
  if (volume.secret !== undefined) volume.secret.defaultMode ??= 0o644;
  if (volume.configMap !== undefined) volume.configMap.defaultMode ??= 0o644;
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.projected !== undefined) fillProjected(volume.projected);
  const template = volume.ephemeral?.volumeClaimTemplate;
  if (template?.spec !== undefined) template.spec['volumeMode'] ??= 'Filesystem';
}

function fillProjected(volume: ProjectedVolume): void {
  volume.defaultMode ??= 0o644;
  for (const { serviceAccountToken: token, downwardAPI } of volume.sources ?? []) {
    if (token !== undefined) token.expirationSeconds ??= 3600;
    for (const { fieldRef } of downwardAPI?.items ?? [])
      if (fieldRef !== undefined) fieldRef.apiVersion ??= 'v1';
  }
}

export function allContainers(spec: PodSpec): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}

function fillContainerDefaults(container: Container): void {
  container.imagePullPolicy ??= pullPolicy(container.image ?? '');
  container.terminationMessagePath ??= '/dev/termination-log';
  container.terminationMessagePolicy ??= 'File';
  container.resources ??= {};
  const { limits, requests } = container.resources;
  if (limits !== undefined) container.resources.requests = { ...limits, ...requests };
  for (const port of container.ports ?? []) port.protocol ??= 'TCP';
}

function pullPolicy(image: string): 'Always' | 'IfNotPresent' {
  const tag = /^[^@]*?:([^/:@]+)$/.exec(image)?.[1];
  return image.includes('@') || (tag !== undefined && tag !== 'latest') ? 'IfNotPresent' : 'Always';
}

/** Applies the admission plugin DefaultTolerationSeconds. */
export function addDefaultTolerations(spec: PodSpec): void {
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    const covered = (spec.tolerations ?? []).some(
      (toleration) =>
        (toleration.key === key || toleration.key === undefined || toleration.key === '') &&
        (toleration.effect === 'NoExecute' || toleration.effect === undefined),
    );
    const added: Toleration = { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 };
    if (!covered) spec.tolerations = [...(spec.tolerations ?? []), added];
  }
}

/** Returns the quality of service class of a pod (pkg/apis/core/helper/qos). */
export function qosClass(spec: PodSpec): 'Guaranteed' | 'Burstable' | 'BestEffort' {
  const resources = allContainers(spec).map((container) => container.resources ?? {});
  const amount = (list: Record<string, string> | undefined, name: string): bigint =>
    parseQuantity(list?.[name] ?? '0') ?? 0n;
  const named = ['cpu', 'memory'] as const;
  if (
    !resources.some(({ requests, limits }) =>
      named.some((name) => amount(requests, name) > 0n || amount(limits, name) > 0n),
    )
  ) {
    return 'BestEffort';
  }
  const guaranteed = resources.every(({ requests, limits }) =>
    named.every((name) => amount(limits, name) > 0n && amount(limits, name) === amount(requests, name)),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}
