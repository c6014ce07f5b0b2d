import type { NamespacedObject } from '../object.ts';

/** The part of v1.Pod that we write or read. The embedded cluster rejects other fields. */
export interface Pod extends NamespacedObject {
  spec: PodSpec;
  status?: PodStatus;
}

export interface PodSpec {
  nodeName?: string;
  hostname?: string;
  restartPolicy?: 'Always' | 'OnFailure' | 'Never';
  terminationGracePeriodSeconds?: number;
  serviceAccountName?: string;
  serviceAccount?: string;
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
  hostNetwork?: boolean;
  hostPID?: boolean;
  dnsPolicy?: string;
  dnsConfig?: DnsConfig;
  schedulerName?: string;
  /** The scheduler assigns a node only after all of them are removed. None can be added later. */
  schedulingGates?: SchedulingGate[];
  priority?: number;
  priorityClassName?: string;
  preemptionPolicy?: string;
  runtimeClassName?: string;
  securityContext?: PodSecurityContext;
  imagePullSecrets?: { name: string }[];
  nodeSelector?: Record<string, string>;
  affinity?: Affinity;
  tolerations?: Toleration[];
  topologySpreadConstraints?: TopologySpreadConstraint[];
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
}

export interface SchedulingGate {
  name: string;
}

/** PodDNSConfig: the lines of the pod's resolv.conf. */
interface DnsConfig {
  nameservers?: string[];
  searches?: string[];
  options?: { name?: string; value?: string }[];
}

interface PodSecurityContext {
  runAsUser?: number;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  seccompProfile?: SecurityProfile;
  appArmorProfile?: SecurityProfile;
}

/** SeccompProfile and AppArmorProfile, which have the same shape. */
export interface SecurityProfile {
  type: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  localhostProfile?: string;
}

export interface Toleration {
  key?: string;
  operator?: 'Exists' | 'Equal';
  value?: string;
  effect?: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  tolerationSeconds?: number;
}

/** Spreads the pods of a selector evenly over the values of a node label. */
export interface TopologySpreadConstraint {
  maxSkew: number;
  topologyKey: string;
  whenUnsatisfiable: 'DoNotSchedule' | 'ScheduleAnyway';
  labelSelector?: LabelSelector;
  minDomains?: number;
}

export interface SelectorRequirement {
  key: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
  values?: string[];
}

export interface NodeSelectorTerm {
  matchExpressions?: SelectorRequirement[];
  matchFields?: SelectorRequirement[];
}

export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: SelectorRequirement[];
}

export interface PodAffinityTerm {
  labelSelector?: LabelSelector;
  topologyKey: string;
  namespaces?: string[];
}

export interface Affinity {
  nodeAffinity?: {
    requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms: NodeSelectorTerm[] };
    preferredDuringSchedulingIgnoredDuringExecution?: { weight: number; preference: NodeSelectorTerm }[];
  };
  podAffinity?: {
    requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
    preferredDuringSchedulingIgnoredDuringExecution?: { weight: number; podAffinityTerm: PodAffinityTerm }[];
  };
  podAntiAffinity?: {
    requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
    preferredDuringSchedulingIgnoredDuringExecution?: { weight: number; podAffinityTerm: PodAffinityTerm }[];
  };
}

export interface Container {
  name: string;
  image: string;
  imagePullPolicy?: 'Always' | 'IfNotPresent' | 'Never';
  command?: string[];
  args?: string[];
  workingDir?: string;
  env?: { name: string; value?: string }[];
  ports?: { name?: string; containerPort: number; hostPort?: number; protocol?: string }[];
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  volumeMounts?: VolumeMount[];
  securityContext?: ContainerSecurityContext;
  lifecycle?: { preStop?: { exec?: { command: string[] } } };
  /** Marks an init container as a sidecar. Only admission webhooks of others add sidecars. */
  restartPolicy?: 'Always';
  stdin?: boolean;
  tty?: boolean;
  terminationMessagePath?: string;
  terminationMessagePolicy?: string;
}

export interface ContainerSecurityContext extends PodSecurityContext {
  privileged?: boolean;
  allowPrivilegeEscalation?: boolean;
  readOnlyRootFilesystem?: boolean;
  capabilities?: { add?: string[]; drop?: string[] };
}

export interface VolumeMount {
  name: string;
  mountPath: string;
  subPath?: string;
  readOnly?: boolean;
  mountPropagation?: 'None' | 'HostToContainer' | 'Bidirectional';
}

export interface Volume {
  name: string;
  emptyDir?: { medium?: '' | 'Memory'; sizeLimit?: string };
  secret?: {
    secretName: string;
    defaultMode?: number;
    optional?: boolean;
    items?: { key: string; path: string; mode?: number }[];
  };
  configMap?: {
    name: string;
    defaultMode?: number;
    optional?: boolean;
    items?: { key: string; path: string; mode?: number }[];
  };
  projected?: ProjectedVolume;
  hostPath?: { path: string; type?: '' | 'Directory' | 'DirectoryOrCreate' | 'File' };
  persistentVolumeClaim?: { claimName: string; readOnly?: boolean };
  csi?: { driver: string; readOnly?: boolean; volumeAttributes?: Record<string, string> };
  ephemeral?: {
    volumeClaimTemplate: {
      metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
      spec: Record<string, unknown>;
    };
  };
}

export interface ProjectedVolume {
  defaultMode?: number;
  sources?: VolumeProjection[];
}

/** Exactly one of these fields is set. */
export interface VolumeProjection {
  serviceAccountToken?: { audience?: string; expirationSeconds?: number; path: string };
  configMap?: { name: string; optional?: boolean; items?: { key: string; path: string; mode?: number }[] };
  secret?: { name: string; optional?: boolean; items?: { key: string; path: string; mode?: number }[] };
  downwardAPI?: {
    items?: { path: string; fieldRef?: { apiVersion?: string; fieldPath: string }; mode?: number }[];
  };
}

export interface PodCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: string;
  message?: string;
  lastTransitionTime?: string | null;
  lastProbeTime?: string | null;
  observedGeneration?: number;
}

export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt: string };
  terminated?: {
    exitCode: number;
    signal?: number;
    reason?: string;
    message?: string;
    startedAt?: string;
    finishedAt?: string;
    containerID?: string;
  };
}

export interface ContainerStatus {
  name: string;
  image: string;
  imageID: string;
  containerID?: string;
  ready: boolean;
  started?: boolean;
  restartCount: number;
  state?: ContainerState;
  lastState?: ContainerState;
}

export interface PodStatus {
  phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
  observedGeneration?: number;
  reason?: string;
  message?: string;
  hostIP?: string;
  hostIPs?: { ip: string }[];
  podIP?: string;
  podIPs?: { ip: string }[];
  startTime?: string;
  qosClass?: 'Guaranteed' | 'Burstable' | 'BestEffort';
  conditions?: PodCondition[];
  initContainerStatuses?: ContainerStatus[];
  containerStatuses?: ContainerStatus[];
}

/** True if the pod's condition Ready is True (kubernetes: pkg/api/v1/pod IsPodReady). */
export function isPodReady({ status }: Pick<Pod, 'status'>): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
}

/** True if all containers of the pod have ended and will not be restarted. */
export const isTerminal = ({ status }: { readonly status?: PodStatus | undefined }): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';
