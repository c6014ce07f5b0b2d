import {
  fields,
  boolean,
  integer,
  kindSchema,
  array,
  mapOf,
  quantity,
  string,
  time,
} from '../../schema/schema.ts';
import { labelSelector, nodeSelector, nodeSelectorTerm } from '../node-selector-schema.ts';
import { claimSpec } from '../persistent-volume-claims.ts';

const keyToPath = array(fields({ key: string, path: string, mode: integer }));

const volume = fields({
  name: string,
  emptyDir: fields({ medium: string, sizeLimit: quantity }),
  secret: fields({ secretName: string, defaultMode: integer, optional: boolean, items: keyToPath }),
  configMap: fields({ name: string, defaultMode: integer, optional: boolean, items: keyToPath }),
  hostPath: fields({ path: string, type: string }),
  projected: fields({
    defaultMode: integer,
    sources: array(
      fields({
        serviceAccountToken: fields({ audience: string, expirationSeconds: integer, path: string }),
        configMap: fields({ name: string, optional: boolean, items: keyToPath }),
        secret: fields({ name: string, optional: boolean, items: keyToPath }),
        downwardAPI: fields({
          items: array(
            fields({
              path: string,
              fieldRef: fields({ apiVersion: string, fieldPath: string }),
              mode: integer,
            }),
          ),
        }),
      }),
    ),
  }),
  persistentVolumeClaim: fields({ claimName: string, readOnly: boolean }),
  csi: fields({
    ...{ driver: string, fsType: string, readOnly: boolean, volumeAttributes: mapOf(string) },
    nodePublishSecretRef: fields({ name: string }),
  }),
  ephemeral: fields({
    volumeClaimTemplate: fields({
      metadata: fields({ labels: mapOf(string), annotations: mapOf(string) }),
      spec: claimSpec,
    }),
  }),
});

const securityProfile = fields({ type: string, localhostProfile: string });

/** The common fields of the securityContext of pods and containers. */
const identity = {
  runAsUser: integer,
  runAsGroup: integer,
  runAsNonRoot: boolean,
  seccompProfile: securityProfile,
  appArmorProfile: securityProfile,
};

const container = fields({
  name: string,
  image: string,
  imagePullPolicy: string,
  command: array(string),
  args: array(string),
  workingDir: string,
  env: array(fields({ name: string, value: string }), { key: 'name' }),
  ports: array(fields({ name: string, containerPort: integer, hostPort: integer, protocol: string }), {
    key: 'containerPort',
  }),
  resources: fields({ requests: mapOf(quantity), limits: mapOf(quantity) }),
  volumeMounts: array(
    fields({ name: string, mountPath: string, subPath: string, readOnly: boolean, mountPropagation: string }),
    { key: 'mountPath' },
  ),
  securityContext: fields({
    privileged: boolean,
    allowPrivilegeEscalation: boolean,
    readOnlyRootFilesystem: boolean,
    ...identity,
    capabilities: fields({ add: array(string), drop: array(string) }),
  }),
  lifecycle: fields({ preStop: fields({ exec: fields({ command: array(string) }) }) }),
  stdin: boolean,
  tty: boolean,
  terminationMessagePath: string,
  terminationMessagePolicy: string,
});

const podAffinityTerm = fields({ labelSelector, topologyKey: string, namespaces: array(string) });
const podAffinity = fields({
  requiredDuringSchedulingIgnoredDuringExecution: array(podAffinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: array(fields({ weight: integer, podAffinityTerm })),
});
const nodeAffinity = fields({
  requiredDuringSchedulingIgnoredDuringExecution: nodeSelector,
  preferredDuringSchedulingIgnoredDuringExecution: array(
    fields({ weight: integer, preference: nodeSelectorTerm }),
  ),
});

const containerState = fields({
  waiting: fields({ reason: string, message: string }),
  running: fields({ startedAt: time }),
  terminated: fields({
    exitCode: integer,
    signal: integer,
    reason: string,
    message: string,
    startedAt: time,
    finishedAt: time,
    containerID: string,
  }),
});

const containerStatus = fields({
  name: string,
  image: string,
  imageID: string,
  containerID: string,
  ready: boolean,
  started: boolean,
  restartCount: integer,
  state: containerState,
  lastState: containerState,
});

const condition = fields({
  type: string,
  status: string,
  reason: string,
  message: string,
  lastTransitionTime: time,
  lastProbeTime: time,
  observedGeneration: integer,
});

const address = array(fields({ ip: string }), { key: 'ip' });

/** The fields of v1.Pod that src/kubernetes/types/pod.ts has: those that the node and the controllers use. */
export const podSchema = kindSchema({
  spec: fields({
    nodeName: string,
    hostname: string,
    restartPolicy: string,
    terminationGracePeriodSeconds: integer,
    serviceAccountName: string,
    serviceAccount: string,
    automountServiceAccountToken: boolean,
    enableServiceLinks: boolean,
    hostNetwork: boolean,
    hostPID: boolean,
    dnsPolicy: string,
    dnsConfig: fields({
      nameservers: array(string),
      searches: array(string),
      options: array(fields({ name: string, value: string })),
    }),
    schedulerName: string,
    schedulingGates: array(fields({ name: string }), { key: 'name' }),
    priority: integer,
    priorityClassName: string,
    runtimeClassName: string,
    preemptionPolicy: string,
    securityContext: fields(identity),
    imagePullSecrets: array(fields({ name: string }), { key: 'name' }),
    nodeSelector: mapOf(string),
    affinity: fields({ nodeAffinity, podAffinity, podAntiAffinity: podAffinity }),
    tolerations: array(
      fields({ key: string, operator: string, value: string, effect: string, tolerationSeconds: integer }),
    ),
    topologySpreadConstraints: array(
      fields({
        maxSkew: integer,
        topologyKey: string,
        whenUnsatisfiable: string,
        labelSelector,
        minDomains: integer,
      }),
      { key: 'topologyKey' },
    ),
    initContainers: array(container, { key: 'name' }),
    containers: array(container, { key: 'name' }),
    volumes: array(volume, { key: 'name' }),
  }),
  status: fields({
    phase: string,
    observedGeneration: integer,
    reason: string,
    message: string,
    hostIP: string,
    hostIPs: address,
    podIP: string,
    podIPs: address,
    startTime: time,
    qosClass: string,
    conditions: array(condition, { key: 'type' }),
    initContainerStatuses: array(containerStatus),
    containerStatuses: array(containerStatus),
  }),
});
