import type { Pod, PodSpec, Volume, VolumeMount } from '../../kubernetes/pod.ts';
import { vmScriptsVersion } from '../../bosh/object-labels.ts';
import { annotation, baseLabels, label } from '../labels.ts';
import { labelValue } from '../names.ts';
import { cpiContainerRequests, prepareContainer, vmContainer } from '../own-containers.ts';
import { sha256 } from '../sha256.ts';
import { entryScript } from './entry-script.ts';
import type { InstanceGroup } from './instance-group.ts';
import { preStopScript } from './pre-stop-script.ts';
import { podPlacement } from './pod-placement.ts';
import { profileSecurity } from './profile.ts';
import { prepareScript, stateDirectories } from './prepare-script.ts';
import { atLeast } from './resources.ts';
import { dataClaimName, stateClaimName, volumeLabels } from './vm-claims.ts';
import type { VmPlan } from './vm-plan.ts';

/** The path where the agent of a stock stemcell reads its settings (agent.json, File source). */
const settingsPath = '/var/vcap/bosh/warden-cpi-agent-env.json';
export const settingsKey = 'settings.json';
export const hubVolume = 'hub';
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
        // read it (kubernetes: pkg/volume/util, FsUserFrom); close-token-folder.ts hides it from other users
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
