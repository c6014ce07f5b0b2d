import type { Resource } from '../../../../src/kubernetes/api.ts';
import * as resources from '../../../../src/kubernetes/resources.ts';
import type { Chance } from './seeded.ts';

export type Fields = Record<string, unknown>;

export interface Template {
  readonly resource: Resource;
  /** Returns all fields of a valid object except its metadata. */
  readonly make: (chance: Chance) => Fields;
}

const quantity = (chance: Chance): string => chance.pick(['1Gi', '64Mi', '1', '500M', '2e9', '100m']);
const text = (chance: Chance): string => chance.pick(['a', 'b-1', 'long'.repeat(9), 'x.y', '0']);
const map = (chance: Chance): Fields => ({ [text(chance)]: text(chance), [text(chance)]: text(chance) });

const claimSpec = (chance: Chance): Fields => ({
  accessModes: [chance.pick(['ReadWriteOnce', 'ReadWriteOncePod', 'ReadWriteMany'])],
  resources: { requests: { storage: quantity(chance) } },
  storageClassName: chance.pick(['local', '', 'none']),
});

const container = (chance: Chance, name: string): Fields => ({
  name,
  image: 'embedded.bosh-kubernetes/host-root:1',
  command: ['sleep', text(chance)],
  env: [{ name: 'A', value: text(chance) }],
  resources: { requests: { cpu: '1', memory: quantity(chance) } },
  volumeMounts: [{ name: 'data', mountPath: '/data' }],
  securityContext: { privileged: chance.once(2), runAsUser: chance.below(1000) },
});

const pod = (chance: Chance): Fields => ({
  spec: {
    containers: [container(chance, 'main'), container(chance, 'side')],
    volumes: [
      chance.pick<Fields>([
        { name: 'data', emptyDir: { medium: 'Memory' } },
        { name: 'data', hostPath: { path: '/tmp', type: 'Directory' } },
        { name: 'data', persistentVolumeClaim: { claimName: 'n1' } },
        { name: 'data', secret: { secretName: 'n1', items: [{ key: 'k', path: 'p' }] } },
        { name: 'data', ephemeral: { volumeClaimTemplate: { spec: claimSpec(chance) } } },
      ]),
    ],
    nodeSelector: map(chance),
    terminationGracePeriodSeconds: chance.below(60),
    tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoSchedule' }],
    restartPolicy: chance.pick(['Always', 'Never', 'OnFailure']),
  },
});

const snapshotRef = { name: 'n1', namespace: 'bosh' };

/** Valid objects of the kinds that the CPI and the controllers use. */
export const templates: readonly Template[] = [
  { resource: resources.configMaps, make: (chance) => ({ data: map(chance) }) },
  { resource: resources.secrets, make: (chance) => ({ stringData: map(chance), type: 'Opaque' }) },
  { resource: resources.pods, make: pod },
  { resource: resources.persistentVolumeClaims, make: (chance) => ({ spec: claimSpec(chance) }) },
  {
    resource: resources.persistentVolumes,
    make: (chance) => ({
      spec: {
        capacity: { storage: quantity(chance) },
        accessModes: ['ReadWriteOnce'],
        hostPath: { path: `/volumes/${text(chance)}` },
        storageClassName: text(chance),
      },
    }),
  },
  {
    resource: resources.storageClasses,
    make: (chance) => ({
      provisioner: 'a.b/c',
      volumeBindingMode: chance.pick(['Immediate', 'WaitForFirstConsumer']),
    }),
  },
  { resource: resources.nodes, make: () => ({ spec: { unschedulable: true } }) },
  { resource: resources.namespaces, make: () => ({}) },
  {
    resource: resources.services,
    make: (chance) => ({
      spec: {
        type: chance.pick(['ClusterIP', 'NodePort', 'LoadBalancer']),
        ports: [
          { name: 'a', port: 1 + chance.below(100), targetPort: chance.pick([8080, 'http']) },
          { name: 'b', port: 101 + chance.below(100), protocol: 'TCP' },
        ],
        selector: map(chance),
        publishNotReadyAddresses: chance.once(2),
      },
    }),
  },
  {
    resource: resources.endpointSlices,
    make: (chance) => ({
      addressType: 'IPv4',
      endpoints: [{ addresses: [`127.64.0.${chance.below(256)}`], conditions: { ready: chance.once(2) } }],
      ports: [{ name: text(chance), port: chance.below(100), protocol: 'TCP' }],
    }),
  },
  {
    resource: resources.events,
    make: (chance) => ({
      involvedObject: { kind: 'Pod', name: 'n1', namespace: 'bosh' },
      reason: text(chance),
      type: 'Normal',
      count: chance.below(9),
    }),
  },
  {
    resource: resources.volumeSnapshots,
    make: (chance) => ({ spec: { source: { persistentVolumeClaimName: text(chance) } } }),
  },
  {
    resource: resources.volumeSnapshotContents,
    make: (chance) => ({
      spec: {
        deletionPolicy: 'Retain',
        driver: 'a.b',
        source: { snapshotHandle: text(chance) },
        volumeSnapshotRef: snapshotRef,
      },
    }),
  },
  {
    resource: resources.volumeSnapshotClasses,
    make: (chance) => ({ driver: 'a.b', deletionPolicy: 'Delete', parameters: map(chance) }),
  },
  {
    resource: resources.networkAttachmentDefinitions,
    make: (chance) => ({ spec: { config: JSON.stringify(map(chance)) } }),
  },
];
