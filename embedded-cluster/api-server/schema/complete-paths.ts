import { words } from './words.ts';

const below = (path: string, ends: string): readonly string[] => words(ends).map((end) => `${path}.${end}`);
const top: readonly string[] = [''];

const labelSelector = (path: string): readonly string[] => [path, `${path}.matchExpressions`];
const nodeSelectorTerm = (path: string): readonly string[] => [
  path,
  ...below(path, 'matchExpressions matchFields'),
];
const nodeSelector = (path: string): readonly string[] => [
  path,
  ...nodeSelectorTerm(`${path}.nodeSelectorTerms`),
];
const container = (path: string): readonly string[] =>
  below(
    path,
    'securityContext.seccompProfile securityContext.appArmorProfile securityContext.capabilities lifecycle.preStop.exec',
  );

function nodeAffinity(path: string): readonly string[] {
  const preferred = `${path}.preferredDuringSchedulingIgnoredDuringExecution`;
  return [
    path,
    ...nodeSelector(`${path}.requiredDuringSchedulingIgnoredDuringExecution`),
    preferred,
    ...nodeSelectorTerm(`${preferred}.preference`),
  ];
}

function podAffinity(path: string): readonly string[] {
  const preferred = `${path}.preferredDuringSchedulingIgnoredDuringExecution`;
  return [
    path,
    ...labelSelector(`${path}.requiredDuringSchedulingIgnoredDuringExecution.labelSelector`),
    preferred,
    ...labelSelector(`${preferred}.podAffinityTerm.labelSelector`),
  ];
}

const accessReview = [...top, 'spec.nonResourceAttributes'];

const paths: Readonly<Record<string, readonly string[]>> = {
  ClusterRoleBinding: [...top, 'roleRef'],
  ConfigMap: top,
  EndpointSlice: ['endpoints.conditions'],
  Event: words('involvedObject related source series'),
  Lease: top,
  Namespace: [...top, 'spec'],
  NetworkAttachmentDefinition: [...top, 'spec'],
  Node: [...top, 'spec.taints'],
  PersistentVolume: [
    ...top,
    ...below('spec', 'claimRef csi.nodeStageSecretRef hostPath nodeAffinity'),
    ...nodeSelector('spec.nodeAffinity.required'),
  ],
  PersistentVolumeClaim: [...top, 'spec.dataSource'],
  Pod: [
    ...top,
    ...below('spec', 'dnsConfig dnsConfig.options imagePullSecrets schedulingGates tolerations'),
    ...below('spec.securityContext', 'seccompProfile appArmorProfile'),
    ...container('spec.initContainers'),
    ...container('spec.containers'),
    ...nodeAffinity('spec.affinity.nodeAffinity'),
    ...podAffinity('spec.affinity.podAffinity'),
    ...podAffinity('spec.affinity.podAntiAffinity'),
    ...labelSelector('spec.topologySpreadConstraints.labelSelector'),
    ...below(
      'spec.volumes',
      'csi csi.nodePublishSecretRef emptyDir hostPath secret.items configMap.items projected persistentVolumeClaim',
    ),
    ...below(
      'spec.volumes.projected.sources',
      `serviceAccountToken configMap configMap.items secret secret.items downwardAPI downwardAPI.items.fieldRef`,
    ),
    ...below('spec.volumes.ephemeral', 'volumeClaimTemplate volumeClaimTemplate.spec.dataSource'),
    'spec.volumes.ephemeral',
  ],
  PodDisruptionBudget: [...top, 'spec.selector.matchExpressions'],
  ResourceQuota: top,
  RoleBinding: [...top, 'roleRef'],
  Secret: top,
  SelfSubjectAccessReview: accessReview,
  SelfSubjectReview: top,
  SelfSubjectRulesReview: top,
  Service: top,
  ServiceAccount: ['imagePullSecrets'],
  VolumeSnapshot: [...top, 'spec', 'spec.source'],
  VolumeSnapshotClass: top,
  VolumeSnapshotContent: [...top, 'spec', ...below('spec', 'source volumeSnapshotRef')],
};

/**
 * Returns true if this server has every field that Kubernetes 1.36 has at that path, so that any other field
 * is a typing error. `path` has no indices. metadata is complete in every kind. status contains observations:
 * no server acts on its fields.
 */
export function isCompletePath(kind: string, path: string): boolean {
  return /^(metadata|status)(\.|$)/.test(path) || paths[kind]?.includes(path) === true;
}
