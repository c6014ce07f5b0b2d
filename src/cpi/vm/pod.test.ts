import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { plannedClaims, plannedPod } from '../testing/planned-pod.ts';
import { entryScript } from './scripts/entry.ts';
import { preStopScript, prepareScript, stateDirectories } from './scripts/prepare-and-stop.ts';

const privileged = { privileged: true, runAsUser: 0 };
const stateMounts = stateDirectories.map((name) => ({
  name: 'state',
  mountPath: `/var/vcap/${name}`,
  subPath: name,
}));
const settings = '/var/vcap/bosh/warden-cpi-agent-env.json';
const fileMounts = [
  { name: 'settings', mountPath: settings, subPath: 'settings.json', readOnly: true },
  { name: 'data', mountPath: '/var/vcap/data' },
];
const prepare = {
  name: 'prepare',
  image: 'i',
  command: ['/bin/sh', '-c', prepareScript, 'prepare', ...stateDirectories],
  resources: { requests: { cpu: '10m', memory: '32Mi' } },
  securityContext: { runAsUser: 0 },
};
const container = {
  name: 'bosh',
  image: 'i',
  command: ['/bin/sh', '-c', entryScript, 'entry', 'privileged'],
  securityContext: privileged,
  lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', preStopScript] } } },
};
const settingsVolume = { name: 'settings', secret: { secretName: 'vm-a', defaultMode: 0o600 } };
const stay = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
];

suite("the pod of a VM, whole: what is not here is Kubernetes' default", () => {
  test('nothing asked for: no token, no links, no pull secret, its disks bound into the hub', () => {
    assert.deepEqual(plannedPod().spec, {
      hostname: 'a',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: stay,
      initContainers: [
        {
          ...prepare,
          volumeMounts: [
            { name: 'state', mountPath: '/state' },
            { name: 'hub', mountPath: '/warden-cpi-dev' },
          ],
        },
      ],
      containers: [
        {
          ...container,
          resources: { requests: { cpu: '100m', memory: '128Mi', 'ephemeral-storage': '1024Mi' } },
          volumeMounts: [
            ...stateMounts,
            ...fileMounts,
            { name: 'hub', mountPath: '/warden-cpi-dev', mountPropagation: 'HostToContainer' },
          ],
        },
      ],
      volumes: [
        settingsVolume,
        { name: 'state', emptyDir: {} },
        { name: 'data', emptyDir: {} },
        { name: 'hub', emptyDir: { medium: 'Memory' } },
      ],
    });
  });

  test('rendered jobs in memory: a volume of the pod inside of the data, for either strategy', () => {
    for (const attach of ['hot', 'recreate'] as const) {
      const { spec } = plannedPod({ attach, jobsInMemory: '100Mi' });
      assert.deepEqual(
        spec.volumes?.find(({ name }) => name === 'jobs'),
        { name: 'jobs', emptyDir: { medium: 'Memory', sizeLimit: '100Mi' } },
      );
      const paths = spec.containers[0]?.volumeMounts?.map(({ mountPath }) => mountPath) ?? [];
      // a runtime mounts in this order
      assert.ok(paths.indexOf('/var/vcap/data/jobs') > paths.indexOf('/var/vcap/data'), paths.join());
    }
  });

  test('recreate: its state and data on claims, no hub, no request of the disk of the node', () => {
    const { spec } = plannedPod({ attach: 'recreate', properties: { ephemeral_disk: { size: 64 } } });
    assert.deepEqual(spec.initContainers, [
      { ...prepare, volumeMounts: [{ name: 'state', mountPath: '/state' }] },
    ]);
    assert.deepEqual(spec.containers, [
      {
        ...container,
        resources: { requests: { cpu: '100m', memory: '128Mi' } },
        volumeMounts: [...stateMounts, ...fileMounts],
      },
    ]);
    assert.deepEqual(spec.volumes, [
      settingsVolume,
      { name: 'state', persistentVolumeClaim: { claimName: 'vm-a-state' } },
      { name: 'data', persistentVolumeClaim: { claimName: 'vm-a-data' } },
    ]);
  });

  test('a class for the ephemeral disk: a claim that goes with the pod', () => {
    const { spec } = plannedPod({ properties: { ephemeral_disk: { size: 64, storage_class: 'fast' } } });
    assert.deepEqual(spec.volumes?.[2], {
      name: 'data',
      ephemeral: {
        volumeClaimTemplate: {
          metadata: {
            labels: {
              'bosh.cloudfoundry.org/layout': '1',
              'bosh.cloudfoundry.org/kind': 'volume',
              'bosh.cloudfoundry.org/agent-id': 'a',
              'bosh.cloudfoundry.org/vm-id': 'vm-a',
            },
          },
          spec: {
            accessModes: ['ReadWriteOnce'],
            storageClassName: 'fast',
            resources: { requests: { storage: '64Mi' } },
          },
        },
      },
    });
    assert.deepEqual(spec.containers[0]?.resources, { requests: { cpu: '100m', memory: '128Mi' } });
  });

  test('the configured ephemeral disk: its size and class, each where the VM asks for no other', () => {
    const claimOf = (size: string, storageClassName?: string): object => ({
      accessModes: ['ReadWriteOnce'],
      ...(storageClassName !== undefined && { storageClassName }),
      resources: { requests: { storage: size } },
    });
    const requests = { cpu: '100m', memory: '128Mi' };
    for (const [configured, asked, size, storageClass] of [
      [{ size: 96, storage_class: 'fast' }, undefined, '96Mi', 'fast'],
      [{ size: 96, storage_class: 'fast' }, { size: 64 }, '64Mi', 'fast'],
      [{ size: 96, storage_class: 'fast' }, { storage_class: 'slow' }, '96Mi', 'slow'],
      [{ storage_class: 'fast' }, undefined, '1024Mi', 'fast'],
      [{ size: 96 }, undefined, '96Mi', undefined],
    ] as const) {
      const config = { defaults: { ephemeral_disk: configured } };
      const planned = { config, properties: { ephemeral_disk: asked } };
      const { spec } = plannedPod(planned);
      const data = spec.volumes?.[2];
      if (storageClass === undefined) assert.deepEqual(data, { name: 'data', emptyDir: {} });
      else assert.deepEqual(data?.ephemeral?.volumeClaimTemplate.spec, claimOf(size, storageClass));
      assert.deepEqual(spec.containers[0]?.resources, {
        requests: { ...requests, ...(storageClass === undefined && { 'ephemeral-storage': size }) },
      });
      const claims = plannedClaims(planned);
      assert.deepEqual(
        claims.map((claim) => [claim.metadata.name, claim.spec]),
        [
          ['vm-a-state', claimOf('1024Mi', storageClass)],
          ['vm-a-data', claimOf(size, storageClass)],
        ],
      );
    }
  });

  test('a service account brings its token; pull secrets are those of the configuration and its own', () => {
    const { spec } = plannedPod({
      properties: { service_account: 'jobs', image_pull_secrets: ['own'] },
      config: { kubernetes: { image_pull_secrets: ['configured'] } },
    });
    assert.equal(spec.serviceAccountName, 'jobs');
    assert.equal(spec.automountServiceAccountToken, true);
    assert.equal(spec.enableServiceLinks, false);
    assert.deepEqual(spec.imagePullSecrets, [{ name: 'configured' }, { name: 'own' }]);
  });

  test('name servers are its only ones; an agent id that is no name is no hostname', () => {
    const { spec } = plannedPod({ dns: ['192.0.2.53'], agentId: 'Agent_1' });
    assert.equal(spec.dnsPolicy, 'None');
    assert.deepEqual(spec.dnsConfig, { nameservers: ['192.0.2.53'] });
    assert.equal(spec.hostname, 'vm-a');
  });
});

test('its metadata: labels that select it, its owner, and no eviction by an autoscaler', () => {
  const { metadata } = plannedPod({
    group: 'group',
    directorUuid: 'director',
    networking: { labels: { network: 'l' }, annotations: { address: 'a' } },
    properties: { disruption_budget: true },
  });
  const { 'bosh.cloudfoundry.org/spec-digest': digest, ...annotations } = metadata.annotations ?? {};
  assert.match(digest ?? '', /^[0-9a-f]{64}$/u);
  assert.deepEqual(annotations, {
    'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
    'bosh.cloudfoundry.org/attach': 'hot',
    'bosh.cloudfoundry.org/scripts-version': '4',
    address: 'a',
  });
  assert.deepEqual(metadata.labels, {
    'bosh.cloudfoundry.org/layout': '1',
    'bosh.cloudfoundry.org/kind': 'vm',
    'bosh.cloudfoundry.org/director-id': 'director',
    'bosh.cloudfoundry.org/agent-id': 'a',
    'bosh.cloudfoundry.org/vm-id': 'vm-a',
    'bosh.cloudfoundry.org/group': 'group',
    'bosh.cloudfoundry.org/disruption-budget': 'true',
    network: 'l',
  });
  assert.deepEqual(metadata.ownerReferences, [
    { apiVersion: 'v1', kind: 'Secret', name: 'vm-a', uid: 'secret-uid' },
  ]);
});

test('the digest tells one plan from another, and is the same for the same', () => {
  const digest = (...planned: Parameters<typeof plannedPod>): string | undefined =>
    plannedPod(...planned).metadata.annotations?.['bosh.cloudfoundry.org/spec-digest'];
  assert.equal(digest(), digest({ properties: {} }));
  assert.notEqual(digest(), digest({ properties: { cpu: 2 } }));
  assert.notEqual(digest(), digest({ networking: { labels: {}, annotations: { address: 'a' } } }));
});
