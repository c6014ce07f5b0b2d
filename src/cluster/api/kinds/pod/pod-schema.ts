import {
  fields,
  flag,
  integer,
  kindSchema,
  listOf,
  mapOf,
  quantity,
  text,
  time,
} from '../../schema/schema.ts';
import { labelSelector, nodeSelector, nodeSelectorTerm } from '../node-selector-schema.ts';
import { claimSpec } from '../persistent-volume-claims.ts';

const keyToPath = listOf(fields({ key: text, path: text, mode: integer }));

const volume = fields({
  name: text,
  emptyDir: fields({ medium: text, sizeLimit: quantity }),
  secret: fields({ secretName: text, defaultMode: integer, optional: flag, items: keyToPath }),
  configMap: fields({ name: text, defaultMode: integer, optional: flag, items: keyToPath }),
  hostPath: fields({ path: text, type: text }),
  projected: fields({
    defaultMode: integer,
    sources: listOf(
      fields({
        serviceAccountToken: fields({ audience: text, expirationSeconds: integer, path: text }),
        configMap: fields({ name: text, optional: flag, items: keyToPath }),
        secret: fields({ name: text, optional: flag, items: keyToPath }),
        downwardAPI: fields({
          items: listOf(
            fields({ path: text, fieldRef: fields({ apiVersion: text, fieldPath: text }), mode: integer }),
          ),
        }),
      }),
    ),
  }),
  persistentVolumeClaim: fields({ claimName: text, readOnly: flag }),
  csi: fields({
    ...{ driver: text, fsType: text, readOnly: flag, volumeAttributes: mapOf(text) },
    nodePublishSecretRef: fields({ name: text }),
  }),
  ephemeral: fields({
    volumeClaimTemplate: fields({
      metadata: fields({ labels: mapOf(text), annotations: mapOf(text) }),
      spec: claimSpec,
    }),
  }),
});

const securityProfile = fields({ type: text, localhostProfile: text });

/** What a pod's and a container's securityContext have in common. */
const identity = {
  runAsUser: integer,
  runAsGroup: integer,
  runAsNonRoot: flag,
  seccompProfile: securityProfile,
  appArmorProfile: securityProfile,
};

const container = fields({
  name: text,
  image: text,
  imagePullPolicy: text,
  command: listOf(text),
  args: listOf(text),
  workingDir: text,
  env: listOf(fields({ name: text, value: text }), { key: 'name' }),
  ports: listOf(fields({ name: text, containerPort: integer, hostPort: integer, protocol: text }), {
    key: 'containerPort',
  }),
  resources: fields({ requests: mapOf(quantity), limits: mapOf(quantity) }),
  volumeMounts: listOf(
    fields({ name: text, mountPath: text, subPath: text, readOnly: flag, mountPropagation: text }),
    { key: 'mountPath' },
  ),
  securityContext: fields({
    privileged: flag,
    allowPrivilegeEscalation: flag,
    readOnlyRootFilesystem: flag,
    ...identity,
    capabilities: fields({ add: listOf(text), drop: listOf(text) }),
  }),
  lifecycle: fields({ preStop: fields({ exec: fields({ command: listOf(text) }) }) }),
  stdin: flag,
  tty: flag,
  terminationMessagePath: text,
  terminationMessagePolicy: text,
});

const podAffinityTerm = fields({ labelSelector, topologyKey: text, namespaces: listOf(text) });
const podAffinity = fields({
  requiredDuringSchedulingIgnoredDuringExecution: listOf(podAffinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: listOf(fields({ weight: integer, podAffinityTerm })),
});
const nodeAffinity = fields({
  requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
  preferredDuringSchedulingIgnoredDuringExecution: listOf(
    fields({ weight: integer, preference: nodeSelectorTerm }),
  ),
});

const containerState = fields({
  waiting: fields({ reason: text, message: text }),
  running: fields({ startedAt: time }),
  terminated: fields({
    exitCode: integer,
    signal: integer,
    reason: text,
    message: text,
    startedAt: time,
    finishedAt: time,
    containerID: text,
  }),
});

const containerStatus = fields({
  name: text,
  image: text,
  imageID: text,
  containerID: text,
  ready: flag,
  started: flag,
  restartCount: integer,
  state: containerState,
  lastState: containerState,
});

const condition = fields({
  type: text,
  status: text,
  reason: text,
  message: text,
  lastTransitionTime: time,
  lastProbeTime: time,
  observedGeneration: integer,
});

const address = listOf(fields({ ip: text }), { key: 'ip' });

/** v1.Pod as far as src/kubernetes/pod.ts has it: what the node and the controllers act on. */
export const podSchema = kindSchema({
  spec: fields({
    nodeName: text,
    hostname: text,
    restartPolicy: text,
    terminationGracePeriodSeconds: integer,
    serviceAccountName: text,
    serviceAccount: text,
    automountServiceAccountToken: flag,
    enableServiceLinks: flag,
    hostNetwork: flag,
    hostPID: flag,
    dnsPolicy: text,
    dnsConfig: fields({
      nameservers: listOf(text),
      searches: listOf(text),
      options: listOf(fields({ name: text, value: text })),
    }),
    schedulerName: text,
    schedulingGates: listOf(fields({ name: text }), { key: 'name' }),
    priority: integer,
    priorityClassName: text,
    runtimeClassName: text,
    preemptionPolicy: text,
    securityContext: fields(identity),
    imagePullSecrets: listOf(fields({ name: text }), { key: 'name' }),
    nodeSelector: mapOf(text),
    affinity: fields({ nodeAffinity, podAffinity, podAntiAffinity: podAffinity }),
    tolerations: listOf(
      fields({ key: text, operator: text, value: text, effect: text, tolerationSeconds: integer }),
    ),
    topologySpreadConstraints: listOf(
      fields({
        maxSkew: integer,
        topologyKey: text,
        whenUnsatisfiable: text,
        labelSelector,
        minDomains: integer,
      }),
      { key: 'topologyKey' },
    ),
    initContainers: listOf(container, { key: 'name' }),
    containers: listOf(container, { key: 'name' }),
    volumes: listOf(volume, { key: 'name' }),
  }),
  status: fields({
    phase: text,
    observedGeneration: integer,
    reason: text,
    message: text,
    hostIP: text,
    hostIPs: address,
    podIP: text,
    podIPs: address,
    startTime: time,
    qosClass: text,
    conditions: listOf(condition, { key: 'type' }),
    initContainerStatuses: listOf(containerStatus),
    containerStatuses: listOf(containerStatus),
  }),
});
