import {
  hubVolume,
  unlimitedTolerations,
  cpiContainerRequests,
  prepareContainer,
  vmContainer,
} from '../objects/layout.ts';
import type {
  Pod,
  PodSpec,
  Volume,
  VolumeMount,
  NodeSelectorTerm,
  TopologySpreadConstraint,
} from '../../kubernetes/types/pod.ts';
import { vmScriptsVersion } from '../../bosh/object-labels.ts';
import { annotation, baseLabels, label, type InstanceGroup } from '../objects/labels.ts';
import { labelValue, sha256 } from '../objects/names.ts';
import { entryScript } from './scripts/entry.ts';
import type { VmPlan } from './plan-vm.ts';
import { preStopScript, prepareScript, stateDirectories } from './scripts/prepare-and-stop.ts';
import { profileSecurity } from '../config/profile.ts';
import { atLeast } from '../config/resources.ts';
import { dataClaimName, stateClaimName, volumeLabels } from './claims.ts';
import type { Architecture } from '../stemcell/stemcell-cid.ts';
import { type Placement, zoneLabel } from './placement-properties.ts';

/** The path where the agent of a stock stemcell reads its settings (agent.json, File source). */
const settingsPath = '/var/vcap/bosh/warden-cpi-agent-env.json';
export const settingsKey = 'settings.json';
export const hubPath = '/warden-cpi-dev';

export function vmLabels(
  plan: Pick<VmPlan, 'cid' | 'agentId' | 'directorUuid' | 'properties' | keyof InstanceGroup>,
): Record<string, string> {
  return {
    ...baseLabels('vm', plan.directorUuid),
    [label.agentId]: labelValue(plan.agentId),
    [label.vmId]: plan.cid,
    ...(plan.group !== undefined && { [label.group]: labelValue(plan.group) }),
    ...plan.groupLabels,
    ...(plan.properties.disruption.budget &&
      plan.group !== undefined && { [label.disruptionBudget]: 'true' }),
  };
}

/** Returns the VM's pod, owned by the Secret with that uid. The pod contains no secrets. */
export function vmPod(plan: VmPlan, secretUid: string): Pod {
  const spec = podSpec(plan);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: plan.cid,
      namespace: plan.namespace,
      labels: {
        ...vmLabels(plan),
        ...plan.networking.labels,
      },
      annotations: {
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
        [annotation.attach]: plan.attach,
        [annotation.scriptsVersion]: String(vmScriptsVersion),
        [annotation.specDigest]: sha256(JSON.stringify([spec, plan.networking])),
        ...plan.networking.annotations,
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Secret', name: plan.cid, uid: secretUid }],
    },
    spec,
  };
}

function podSpec(plan: VmPlan): PodSpec {
  const { properties } = plan;
  const { serviceAccount, imagePullSecrets } = properties.access;
  return {
    hostname: hostnameOf(plan),
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    automountServiceAccountToken: serviceAccount !== undefined,
    ...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
    enableServiceLinks: false,
    ...(plan.nameServers.length > 0 && {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: [...plan.nameServers] },
    }),
    ...(imagePullSecrets.length > 0 && {
      imagePullSecrets: imagePullSecrets.map((name) => ({ name })),
    }),
    ...podPlacement(properties.placement, plan),
    initContainers: [
      {
        name: prepareContainer,
        image: plan.image,
        command: ['/bin/sh', '-c', prepareScript, 'prepare', ...stateDirectories],
        resources: { requests: { ...cpiContainerRequests } },
        // if all containers have one user, the kubelet gives the token to that user only, and vcap cannot
        // read it (kubernetes: pkg/volume/util, FsUserFrom); entry.ts hides it from other users
        ...(serviceAccount === undefined && { securityContext: { runAsUser: 0 } }),
        volumeMounts: [
          { name: 'state', mountPath: '/state' },
          ...(plan.attach === 'hot' ? [{ name: hubVolume, mountPath: hubPath }] : []),
        ],
      },
    ],
    containers: [
      {
        name: vmContainer,
        image: plan.image,
        command: ['/bin/sh', '-c', entryScript, 'entry', properties.privilege.profile],
        resources: resourcesOf(plan),
        securityContext: profileSecurity(properties.privilege.profile),
        lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', preStopScript] } } },
        volumeMounts: vmMounts(plan),
      },
    ],
    volumes: volumesOf(plan),
  };
}

/** BATs check that the hostname is the agent id; an id that is not a DNS label cannot be a hostname. */
function hostnameOf({ cid, agentId }: VmPlan): string {
  return cid === `vm-${agentId}` ? agentId : cid;
}

function vmMounts({ attach, jobsInMemory }: VmPlan): VolumeMount[] {
  const hub: VolumeMount = { name: hubVolume, mountPath: hubPath, mountPropagation: 'HostToContainer' };
  return [
    ...stateDirectories.map((name) => ({ name: 'state', mountPath: `/var/vcap/${name}`, subPath: name })),
    { name: 'settings', mountPath: settingsPath, subPath: settingsKey, readOnly: true },
    { name: 'data', mountPath: '/var/vcap/data' },
    ...(jobsInMemory === undefined ? [] : [{ name: 'jobs', mountPath: '/var/vcap/data/jobs' }]),
    ...(attach === 'hot' ? [hub] : []),
  ];
}

/**
 * Returns the volumes of the pod. An emptyDir is deleted with its pod, so a pod that is recreated for each
 * disk has claims.
 */
function volumesOf(plan: VmPlan): Volume[] {
  const settings: Volume = { name: 'settings', secret: { secretName: plan.cid, defaultMode: 0o600 } };
  if (plan.attach === 'hot') {
    const hub: Volume = { name: hubVolume, emptyDir: { medium: 'Memory' } };
    return [settings, { name: 'state', emptyDir: {} }, dataVolume(plan), ...jobsVolume(plan), hub];
  }
  return [
    settings,
    ...jobsVolume(plan),
    { name: 'state', persistentVolumeClaim: { claimName: stateClaimName(plan.cid) } },
    { name: 'data', persistentVolumeClaim: { claimName: dataClaimName(plan.cid) } },
  ];
}

/**
 * Returns the volume for rendered jobs in memory. It survives a restart of the container; a tmpfs that the
 * agent mounts would not.
 */
function jobsVolume({ jobsInMemory }: VmPlan): Volume[] {
  if (jobsInMemory === undefined) return [];
  return [{ name: 'jobs', emptyDir: { medium: 'Memory', sizeLimit: jobsInMemory } }];
}

function dataVolume(plan: VmPlan): Volume {
  const { sizeMiB, storageClass } = plan.properties.compute.ephemeralDisk;
  if (storageClass === undefined) return { name: 'data', emptyDir: {} };
  return {
    name: 'data',
    ephemeral: {
      volumeClaimTemplate: {
        metadata: { labels: volumeLabels(plan) },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: storageClass,
          resources: { requests: { storage: `${sizeMiB}Mi` } },
        },
      },
    },
  };
}

/**
 * Returns the resources of the container. It limits ephemeral-storage only if an operator does: a limit would
 * evict the VM for a full log directory.
 */
export function resourcesOf({ attach, properties: { compute } }: VmPlan): {
  requests: Record<string, string>;
  limits?: Record<string, string>;
} {
  const { resources, ephemeralDisk } = compute;
  const onNode = attach === 'hot' && ephemeralDisk.storageClass === undefined;
  const requests = {
    ...resources.requests,
    ...(onNode && { 'ephemeral-storage': `${ephemeralDisk.sizeMiB}Mi` }),
  };
  const limits = atLeast(requests, resources.limits);
  return { requests, ...(Object.keys(limits).length > 0 && { limits }) };
}

export interface ClusterFacts {
  /** env.bosh.group. */
  readonly group: string | undefined;
  /** The architecture of the stemcell, if its cid has one. */
  readonly architecture?: Architecture | undefined;
  /** Node selector terms, as alternatives, from which the VM's disks can be reached; empty: any node. */
  readonly volumeTerms?: readonly NodeSelectorTerm[];
}

type PodPlacement = Pick<
  PodSpec,
  | 'nodeSelector'
  | 'tolerations'
  | 'affinity'
  | 'topologySpreadConstraints'
  | 'priorityClassName'
  | 'runtimeClassName'
>;

/**
 * Returns where a VM's pod may run. Never sets spec.nodeName, because the scheduler would not see the pod.
 */
export function podPlacement(
  placement: Placement,
  { group, architecture, volumeTerms = [] }: ClusterFacts,
): PodPlacement {
  const { zone, nodeSelector, tolerations, priorityClass, runtimeClass } = placement;
  const affinity = {
    ...(volumeTerms.length > 0 && {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...volumeTerms] },
      },
    }),
    ...(group !== undefined && { podAntiAffinity: antiAffinity(group) }),
  };
  return {
    nodeSelector: {
      ...(architecture !== undefined && { 'kubernetes.io/arch': architecture }),
      // an operator may know that nodes of another architecture run the stemcell too
      ...nodeSelector,
      'kubernetes.io/os': 'linux',
      ...(zone !== undefined && { [zoneLabel]: zone }),
    },
    tolerations: [...unlimitedTolerations, ...tolerations],
    ...(Object.keys(affinity).length > 0 && { affinity }),
    ...(group !== undefined && { topologySpreadConstraints: topologySpread(group, zone) }),
    ...(priorityClass !== undefined && { priorityClassName: priorityClass }),
    ...(runtimeClass !== undefined && { runtimeClassName: runtimeClass }),
  };
}

const groupSelector = (group: string): { matchLabels: Record<string, string> } => ({
  matchLabels: { [label.group]: labelValue(group) },
});

/** A preference only, so that a group larger than the cluster still runs. */
function antiAffinity(group: string): NonNullable<NonNullable<PodSpec['affinity']>['podAntiAffinity']> {
  const podAffinityTerm = { topologyKey: 'kubernetes.io/hostname', labelSelector: groupSelector(group) };
  return { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm }] };
}

/**
 * Spreads the group evenly over the nodes and, if BOSH gives no zone, over the zones; also a preference only.
 */
function topologySpread(group: string, zone: string | undefined): TopologySpreadConstraint[] {
  const keys = ['kubernetes.io/hostname', ...(zone === undefined ? [zoneLabel] : [])];
  return keys.map((topologyKey) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: groupSelector(group),
  }));
}
