import {
  cpiContainerRequests,
  hubPath,
  hubVolume,
  prepareContainer,
  settingsKey,
  unlimitedTolerations,
  vmContainer,
} from '../objects/layout.ts';
import type {
  Pod,
  PodSpec,
  Volume,
  VolumeMount,
  TopologySpreadConstraint,
} from '../../kubernetes/types/pod.ts';
import { vmScriptsVersion } from '../../bosh/object-labels.ts';
import type { ObjectContext } from '../call.ts';
import { annotation, baseLabels, label } from '../objects/labels.ts';
import { labelValue, sha256 } from '../objects/names.ts';
import { nameServers } from '../network/networks.ts';
import { entryScript } from './scripts/entry.ts';
import type { VmPlan, VmSpec } from './vm-spec.ts';
import { preStopScript, prepareScript, stateDirectories } from './scripts/prepare-and-stop.ts';
import { profileSecurity } from '../config/profile.ts';
import { atLeast } from '../config/resources.ts';
import { dataClaimName, stateClaimName, volumeLabels } from './claims.ts';
import { zoneLabel } from './placement-properties.ts';
import { requestsOnNode } from './properties.ts';

/** The path where the agent of a stock stemcell reads its settings (agent.json, File source). */
const settingsPath = '/var/vcap/bosh/warden-cpi-agent-env.json';

export function vmLabels(call: ObjectContext, spec: VmSpec): Record<string, string> {
  const { cid, agentId, group, groupLabels, properties } = spec;
  return {
    ...baseLabels(call, 'vm'),
    [label.agentId]: labelValue(agentId),
    [label.vmId]: cid,
    ...(group !== undefined && { [label.group]: labelValue(group) }),
    ...groupLabels,
    ...(properties.disruption.budget && group !== undefined && { [label.disruptionBudget]: 'true' }),
  };
}

/**
 * Returns the VM's pod without its owner, the Secret of the VM (`withOwner`). The pod contains no secrets.
 */
export function podTemplate(call: ObjectContext, plan: VmPlan): Pod {
  const { cid } = plan.spec;
  const { attach, networking } = plan.facts;
  const spec = podSpec(call, plan);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: cid,
      namespace: call.namespace,
      labels: { ...vmLabels(call, plan.spec), ...networking.labels },
      annotations: {
        'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
        [annotation.attach]: attach,
        [annotation.scriptsVersion]: String(vmScriptsVersion),
        [annotation.specDigest]: sha256(JSON.stringify([spec, networking])),
        ...networking.annotations,
      },
    },
    spec,
  };
}

function podSpec(call: ObjectContext, plan: VmPlan): PodSpec {
  const { spec, facts } = plan;
  const { access, privilege } = spec.properties;
  const { serviceAccount, imagePullSecrets } = access;
  const dnsServers = nameServers(spec.networks);
  return {
    hostname: hostnameOf(spec),
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    automountServiceAccountToken: serviceAccount !== undefined,
    ...(serviceAccount !== undefined && { serviceAccountName: serviceAccount }),
    enableServiceLinks: false,
    ...(dnsServers.length > 0 && { dnsPolicy: 'None', dnsConfig: { nameservers: [...dnsServers] } }),
    ...(imagePullSecrets.length > 0 && {
      imagePullSecrets: imagePullSecrets.map((name) => ({ name })),
    }),
    ...podPlacement(plan),
    initContainers: [
      {
        name: prepareContainer,
        image: spec.image,
        command: ['/bin/sh', '-c', prepareScript, 'prepare', ...stateDirectories],
        resources: { requests: { ...cpiContainerRequests } },
        // if all containers have one user, the kubelet gives the token to that user only, and vcap cannot
        // read it (kubernetes: pkg/volume/util, FsUserFrom); entry.ts hides it from other users
        ...(serviceAccount === undefined && { securityContext: { runAsUser: 0 } }),
        volumeMounts: [
          { name: 'state', mountPath: '/state' },
          ...(facts.attach === 'hot' ? [{ name: hubVolume, mountPath: hubPath }] : []),
        ],
      },
    ],
    containers: [
      {
        name: vmContainer,
        image: spec.image,
        command: ['/bin/sh', '-c', entryScript, 'entry', privilege.profile],
        resources: resourcesOf(plan),
        securityContext: profileSecurity(privilege.profile),
        lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', preStopScript] } } },
        volumeMounts: vmMounts(plan),
      },
    ],
    volumes: volumesOf(call, plan),
  };
}

/** BATs check that the hostname is the agent id; an id that is not a DNS label cannot be a hostname. */
function hostnameOf({ cid, agentId }: VmSpec): string {
  return cid === `vm-${agentId}` ? agentId : cid;
}

function vmMounts({ spec: { jobsInMemory }, facts: { attach } }: VmPlan): VolumeMount[] {
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
function volumesOf(call: ObjectContext, { spec, facts }: VmPlan): Volume[] {
  const settings: Volume = { name: 'settings', secret: { secretName: spec.cid, defaultMode: 0o600 } };
  if (facts.attach === 'hot') {
    const hub: Volume = { name: hubVolume, emptyDir: { medium: 'Memory' } };
    return [settings, { name: 'state', emptyDir: {} }, dataVolume(call, spec), ...jobsVolume(spec), hub];
  }
  return [
    settings,
    ...jobsVolume(spec),
    { name: 'state', persistentVolumeClaim: { claimName: stateClaimName(spec.cid) } },
    { name: 'data', persistentVolumeClaim: { claimName: dataClaimName(spec.cid) } },
  ];
}

/**
 * Returns the volume for rendered jobs in memory. It survives a restart of the container; a tmpfs that the
 * agent mounts would not.
 */
function jobsVolume({ jobsInMemory }: VmSpec): Volume[] {
  if (jobsInMemory === undefined) return [];
  return [{ name: 'jobs', emptyDir: { medium: 'Memory', sizeLimit: jobsInMemory } }];
}

function dataVolume(call: ObjectContext, spec: VmSpec): Volume {
  const { sizeMiB, storageClass } = spec.properties.compute.ephemeralDisk;
  if (storageClass === undefined) return { name: 'data', emptyDir: {} };
  return {
    name: 'data',
    ephemeral: {
      volumeClaimTemplate: {
        metadata: { labels: volumeLabels(call, spec) },
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
export function resourcesOf({ spec, facts }: VmPlan): {
  requests: Record<string, string>;
  limits?: Record<string, string>;
} {
  const { compute } = spec.properties;
  const { resources } = compute;
  const requests = facts.attach === 'hot' ? requestsOnNode(compute) : resources.requests;
  const limits = atLeast(requests, resources.limits);
  return { requests, ...(Object.keys(limits).length > 0 && { limits }) };
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
 * Returns where the VM's pod may run. Never sets spec.nodeName, because the scheduler would not see the pod.
 */
export function podPlacement({ spec, facts: { volumeTerms } }: VmPlan): PodPlacement {
  const { group, architecture } = spec;
  const { zone, nodeSelector, tolerations, priorityClass, runtimeClass } = spec.properties.placement;
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
