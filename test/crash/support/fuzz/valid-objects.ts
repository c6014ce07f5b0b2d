import type { Resource } from '../../../../src/kubernetes/api.ts';
import * as resources from '../../../../src/kubernetes/resources.ts';
import type { Random } from '../random.ts';

export type Fields = Record<string, unknown>;

export interface Template {
  readonly resource: Resource;
  /** Returns all fields of a valid object except its metadata. */
  readonly make: (random: Random) => Fields;
}

const quantity = (random: Random): string => random.oneOf(['1Gi', '64Mi', '1', '500M', '2e9', '100m']);
const text = (random: Random): string => random.oneOf(['a', 'b-1', 'long'.repeat(9), 'x.y', '0']);
const map = (random: Random): Fields => ({ [text(random)]: text(random), [text(random)]: text(random) });

const claimSpec = (random: Random): Fields => ({
  accessModes: [random.oneOf(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany'])],
  resources: { requests: { storage: quantity(random) } },
  storageClassName: random.oneOf(['local', '', 'none']),
});

const container = (random: Random, name: string): Fields => ({
  name,
  image: 'embedded.bosh-kubernetes/host-root:1',
  command: ['sleep', text(random)],
  env: [{ name: 'A', value: text(random) }],
  resources: { requests: { cpu: '1', memory: quantity(random) } },
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
  securityContext: { privileged: random.once(2), runAsUser: random.below(1000) },
});

const pod = (random: Random): Fields => ({
  spec: {
    containers: [container(random, 'main'), container(random, 'side')],
    volumes: [
      random.oneOf<Fields>([
        { name: 'data', emptyDir: { medium: 'Memory' } },
        { name: 'data', hostPath: { path: '/tmp', type: 'Directory' } },
        { name: 'data', persistentVolumeClaim: { claimName: 'n1' } },
        { name: 'data', secret: { secretName: 'n1', items: [{ key: 'k', path: 'p' }] } },
        { name: 'data', ephemeral: { volumeClaimTemplate: { spec: claimSpec(random) } } },
      ]),
    ],
    nodeSelector: map(random),
    terminationGracePeriodSeconds: random.below(60),
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
    restartPolicy: random.oneOf(['Always', 'Never', 'OnFailure']),
  },
});

const snapshotRef = { name: 'n1', namespace: 'bosh' };

/** Valid objects of the kinds that the CPI and the controllers use. */
export const templates: readonly Template[] = [
  { resource: resources.configMaps, make: (random) => ({ data: map(random) }) },
  { resource: resources.secrets, make: (random) => ({ stringData: map(random), type: 'Opaque' }) },
  { resource: resources.pods, make: pod },
  { resource: resources.persistentVolumeClaims, make: (random) => ({ spec: claimSpec(random) }) },
  {
    resource: resources.persistentVolumes,
    make: (random) => ({
      spec: {
        capacity: { storage: quantity(random) },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: `/volumes/${text(random)}` },
        storageClassName: text(random),
      },
    }),
  },
  {
    resource: resources.storageClasses,
    make: (random) => ({
      provisioner: 'a.b/c',
      volumeBindingMode: random.oneOf(['Immediate', 'WaitForFirstConsumer']),
    }),
  },
  { resource: resources.nodes, make: () => ({ spec: { unschedulable: true } }) },
  { resource: resources.namespaces, make: () => ({}) },
  {
    resource: resources.services,
    make: (random) => ({
      spec: {
        type: random.oneOf(['ClusterIP', 'NodePort', 'LoadBalancer']),
        ports: [
          { name: 'a', port: 1 + random.below(100), targetPort: random.oneOf([8080, 'http']) },
          { name: 'b', port: 101 + random.below(100), protocol: 'TCP' },
        ],
        selector: map(random),
        publishNotReadyAddresses: random.once(2),
      },
    }),
  },
  {
    resource: resources.endpointSlices,
    make: (random) => ({
      addressType: 'IPv4',
      endpoints: [{ addresses: [`127.64.0.${random.below(256)}`], conditions: { ready: random.once(2) } }],
      ports: [{ name: text(random), port: random.below(100), protocol: 'TCP' }],
    }),
  },
  {
    resource: resources.events,
    make: (random) => ({
      involvedObject: { kind: 'Pod', name: 'n1', namespace: 'bosh' },
      reason: text(random),
      type: 'Normal',
      count: random.below(9),
    }),
  },
  {
    resource: resources.volumeSnapshots,
    make: (random) => ({ spec: { source: { persistentVolumeClaimName: text(random) } } }),
  },
  {
    resource: resources.volumeSnapshotContents,
    make: (random) => ({
      spec: {
        deletionPolicy: 'Retain',
        driver: 'a.b',
        source: { snapshotHandle: text(random) },
        volumeSnapshotRef: snapshotRef,
      },
    }),
  },
  {
    resource: resources.volumeSnapshotClasses,
    make: (random) => ({ driver: 'a.b', deletionPolicy: 'Delete', parameters: map(random) }),
  },
  {
    resource: resources.networkAttachmentDefinitions,
    make: (random) => ({ spec: { config: JSON.stringify(map(random)) } }),
  },
];
