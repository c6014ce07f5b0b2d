import { isCompletePath } from './complete-paths.ts';
import { claimFields, objectReference, podFields, typedReference } from './upstream-pod-fields.ts';
import { words } from './words.ts';

const attributes = words(
  'fieldSelector group labelSelector name namespace resource subresource verb version',
);
const rules = words('apiGroups nonResourceURLs resourceNames resources verbs');
const subjects = words('apiGroup kind name namespace');
const selector = words('matchExpressions matchLabels');

/**
 * The fields that Kubernetes 1.36 has, by kind and path without indices, whether they are served here or not.
 */
const fields: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  ClusterRole: { '': words('aggregationRule rules'), rules },
  ClusterRoleBinding: { subjects },
  ConfigMap: {},
  EndpointSlice: {
    '': words('addressType endpoints ports'),
    endpoints: words('addresses conditions deprecatedTopology hints hostname nodeName targetRef zone'),
    'endpoints.targetRef': objectReference,
    ports: words('appProtocol name port protocol'),
  },
  Event: {
    '': words(`action count eventTime firstTimestamp involvedObject lastTimestamp message reason related
      reportingComponent reportingInstance series source type`),
  },
  Lease: {
    spec: words(
      `acquireTime holderIdentity leaseDurationSeconds leaseTransitions preferredHolder renewTime strategy`,
    ),
  },
  Namespace: {},
  NetworkAttachmentDefinition: {},
  PodDisruptionBudget: {
    spec: words('maxUnavailable minAvailable selector unhealthyPodEvictionPolicy'),
    'spec.selector': selector,
  },
  PriorityClass: { '': words('description globalDefault preemptionPolicy value') },
  ResourceQuota: { spec: words('hard scopeSelector scopes') },
  Role: { '': ['rules'], rules },
  RoleBinding: { subjects },
  RuntimeClass: { '': words('handler overhead scheduling') },
  Secret: {},
  SelfSubjectAccessReview: {
    spec: words('nonResourceAttributes resourceAttributes'),
    'spec.resourceAttributes': attributes,
  },
  SelfSubjectReview: {},
  SelfSubjectRulesReview: { spec: ['namespace'] },
  Service: {
    spec: words(`allocateLoadBalancerNodePorts clusterIP clusterIPs externalIPs externalName externalTrafficPolicy
      healthCheckNodePort internalTrafficPolicy ipFamilies ipFamilyPolicy loadBalancerClass loadBalancerIP
      loadBalancerSourceRanges ports publishNotReadyAddresses selector sessionAffinity sessionAffinityConfig
      trafficDistribution type`),
    'spec.ports': words('appProtocol name nodePort port protocol targetPort'),
  },
  ServiceAccount: { '': words('automountServiceAccountToken imagePullSecrets secrets') },
  VolumeAttributesClass: { '': words('driverName parameters') },
  VolumeSnapshot: {},
  VolumeSnapshotClass: {},
  VolumeSnapshotContent: {},
  Pod: podFields,
  PersistentVolumeClaim: {
    spec: claimFields,
    'spec.resources': words('limits requests'),
    'spec.dataSourceRef': typedReference,
  },
  PersistentVolume: {
    spec: words(`accessModes awsElasticBlockStore azureDisk azureFile capacity cephfs cinder claimRef csi fc flexVolume
      flocker gcePersistentDisk glusterfs hostPath iscsi local mountOptions nfs nodeAffinity
      persistentVolumeReclaimPolicy photonPersistentDisk portworxVolume quobyte rbd scaleIO storageClassName storageos
      volumeAttributesClassName volumeMode vsphereVolume`),
    'spec.local': words('fsType path'),
    'spec.csi': words(`controllerExpandSecretRef controllerPublishSecretRef driver fsType nodeExpandSecretRef
      nodePublishSecretRef nodeStageSecretRef readOnly volumeAttributes volumeHandle`),
  },
  StorageClass: {
    '': words(`allowedTopologies allowVolumeExpansion mountOptions parameters provisioner reclaimPolicy
      volumeBindingMode`),
  },
  Node: {
    spec: words('configSource externalID podCIDR podCIDRs providerID taints unschedulable'),
  },
};

/**
 * Returns true if Kubernetes has a field that was not decoded. `path` has indices (`spec.volumes[0].nfs`). If
 * a kind, or an object in it, is neither described here nor known to be complete, returns true for every
 * field, so that none can be accepted by oversight.
 */
export function isUpstreamField(kind: string, path: string): boolean {
  const described = fields[kind];
  if (described === undefined) return true;
  const plain = path.replaceAll(/\[\d+\]/g, '');
  const dot = plain.lastIndexOf('.');
  const parent = dot === -1 ? '' : plain.slice(0, dot);
  return described[parent]?.includes(plain.slice(dot + 1)) ?? !isCompletePath(kind, parent);
}
