import { words } from './words.ts';

const container =
  words(`args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe
  resizePolicy resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce
  terminationMessagePath terminationMessagePolicy tty volumeDevices volumeMounts workingDir`);
const securityContext = words(`allowPrivilegeEscalation appArmorProfile capabilities privileged procMount
  readOnlyRootFilesystem runAsGroup runAsNonRoot runAsUser seLinuxOptions seccompProfile windowsOptions`);
const handler = words('exec httpGet sleep tcpSocket');
/** Fields of a claim's spec. */
export const claimFields = words(`accessModes dataSource dataSourceRef resources selector storageClassName
  volumeAttributesClassName volumeMode volumeName`);
/** v1.TypedObjectReference, the type of a claim's dataSourceRef. */
export const typedReference = words('apiGroup kind name namespace');
/** v1.ObjectReference. */
export const objectReference = words('apiVersion fieldPath kind name namespace resourceVersion uid');
// Fields that Kubernetes rejects in a template; without creationTimestamp, which Go clients send as null.
const templateMetadata =
  words(`annotations deletionGracePeriodSeconds deletionTimestamp finalizers generateName
  generation labels managedFields name namespace ownerReferences resourceVersion selfLink uid`);
const podTerm = words(
  'labelSelector matchLabelKeys mismatchLabelKeys namespaceSelector namespaces topologyKey',
);
const keyed = words('defaultMode items name optional secretName');

/** Returns the fields of a container, by their path in the pod. */
function containerFields(path: string): Record<string, readonly string[]> {
  return {
    [path]: container,
    [`${path}.securityContext`]: securityContext,
    [`${path}.lifecycle`]: words('postStart preStop stopSignal'),
    [`${path}.lifecycle.preStop`]: handler,
    [`${path}.env`]: words('name value valueFrom'),
    [`${path}.ports`]: words('containerPort hostIP hostPort name protocol'),
    [`${path}.resources`]: words('claims limits requests'),
    [`${path}.volumeMounts`]: words(
      'mountPath mountPropagation name readOnly recursiveReadOnly subPath subPathExpr',
    ),
  };
}

function affinityFields(path: string): Record<string, readonly string[]> {
  return {
    [`${path}.requiredDuringSchedulingIgnoredDuringExecution`]: podTerm,
    [`${path}.preferredDuringSchedulingIgnoredDuringExecution.podAffinityTerm`]: podTerm,
  };
}

/** The fields that Kubernetes 1.36 has in a Pod, by path without indices. */
export const podFields: Readonly<Record<string, readonly string[]>> = {
  spec: words(`activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy
      enableServiceLinks ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride
      imagePullSecrets initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName
      readinessGates resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates
      schedulingGroup
      securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
      terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef`),
  ...containerFields('spec.containers'),
  ...containerFields('spec.initContainers'),
  'spec.securityContext': words(`appArmorProfile fsGroup fsGroupChangePolicy runAsGroup runAsNonRoot runAsUser
      seLinuxChangePolicy seLinuxOptions seccompProfile supplementalGroups supplementalGroupsPolicy sysctls
      windowsOptions`),
  'spec.affinity': words('nodeAffinity podAffinity podAntiAffinity'),
  ...affinityFields('spec.affinity.podAffinity'),
  ...affinityFields('spec.affinity.podAntiAffinity'),
  'spec.topologySpreadConstraints': words(`labelSelector matchLabelKeys maxSkew minDomains nodeAffinityPolicy
      nodeTaintsPolicy topologyKey whenUnsatisfiable`),
  'spec.volumes':
    words(`awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI emptyDir
      ephemeral fc flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi name nfs
      persistentVolumeClaim photonPersistentDisk portworxVolume projected quobyte rbd scaleIO secret storageos
      vsphereVolume`),
  'spec.volumes.secret': keyed,
  'spec.volumes.configMap': keyed,
  'spec.volumes.projected.sources': words(
    'clusterTrustBundle configMap downwardAPI podCertificate secret serviceAccountToken',
  ),
  'spec.volumes.projected.sources.downwardAPI.items': words('fieldRef mode path resourceFieldRef'),
  'spec.volumes.ephemeral.volumeClaimTemplate.metadata': templateMetadata,
  'spec.volumes.ephemeral.volumeClaimTemplate.spec': claimFields,
  'spec.volumes.ephemeral.volumeClaimTemplate.spec.resources': words('limits requests'),
  'spec.volumes.ephemeral.volumeClaimTemplate.spec.dataSourceRef': typedReference,
};
