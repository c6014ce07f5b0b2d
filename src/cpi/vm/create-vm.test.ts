import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../errors/error-table.ts';
import { ApiError } from '../../kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { pods, secrets } from '../../kubernetes/resources.ts';
import { label } from '../objects/labels.ts';
import { brokenImage } from '../testing/fake-node.ts';
import { interceptingApi } from '../testing/intercepting-api.ts';
import {
  agentId,
  createVmArguments,
  createVmRequest,
  mbusPassword,
  namesLeft,
  namespace,
  testCloud,
  vmCidOfTest,
} from '../testing/test-cloud.ts';
import { createVm } from './create-vm.ts';
import { rejection } from '../testing/rejection.ts';
import { verbOf } from '../testing/verb-of.ts';

/** Reads the settings that the agent of the test's VM gets. */
async function settingsOf(api: KubernetesApi): Promise<string> {
  const secret = await api.get<KubernetesObject & { data: Record<string, string> }>({
    ...{ resource: secrets, namespace, name: vmCidOfTest },
  });
  return Buffer.from(secret.data['settings.json'] ?? '', 'base64').toString();
}

test('makes a Secret and the pod that it owns, with the address that was asked for', async (t) => {
  const { cloud, api } = await testCloud(t);
  const [cid, networks] = await createVm(cloud, createVmRequest({ env: { bosh: { group: 'a-group' } } }));

  assert.equal(cid, vmCidOfTest);
  assert.equal(networks['default']?.['ip'], '127.64.0.10');
  const secret = await api.get<KubernetesObject>({ resource: secrets, namespace, name: cid });
  const pod = await api.get<Pod>({ resource: pods, namespace, name: cid });
  assert.equal(pod.metadata.ownerReferences?.[0]?.uid, secret.metadata.uid);
  assert.equal(pod.status?.podIP, '127.64.0.10');
  assert.equal(pod.spec.hostname, agentId);
  assert.equal(pod.metadata.labels?.[label.group], 'a-group');
  assert.equal(pod.spec.nodeName, 'embedded');
});

test('the settings reach the agent in the Secret, and nothing of them stands in the pod', async (t) => {
  const { cloud, api } = await testCloud(t);
  const env = { bosh: { mbus: { cert: { private_key: 'very-private-key' } } } };
  const [name] = await createVm(cloud, createVmRequest({ env }));

  assert.deepEqual(JSON.parse(await settingsOf(api)), {
    agent_id: agentId,
    vm: { name },
    mbus: `https://mbus:${mbusPassword}@0.0.0.0:6868`,
    ntp: [],
    blobstore: { provider: 'local', options: { blobstore_path: '/var/vcap/micro_bosh/data/cache' } },
    networks: {
      default: {
        type: 'manual',
        ip: '127.64.0.10',
        netmask: '255.255.255.0',
        cloud_properties: {},
        preconfigured: true,
      },
    },
    disks: { system: '', ephemeral: '', persistent: {}, raw_ephemeral: [] },
    env,
  });
  const pod = JSON.stringify(await api.get<Pod>({ resource: pods, namespace, name }));
  assert.doesNotMatch(pod, /very-private-key|mbus-pass-word/u);
});

test('job_dir.tmpfs becomes a volume of the pod, and the agent mounts none over it', async (t) => {
  const { cloud, api } = await testCloud(t);
  const env = { bosh: { parallel: 2, job_dir: { tmpfs: true, tmpfs_size: '32m' } } };
  const [name] = await createVm(cloud, createVmRequest({ env }));

  const pod = await api.get<Pod>({ resource: pods, namespace, name });
  assert.deepEqual(
    pod.spec.volumes?.find((volume) => volume.name === 'jobs'),
    { name: 'jobs', emptyDir: { medium: 'Memory', sizeLimit: '32Mi' } },
  );
  const settings = JSON.parse(await settingsOf(api)) as { readonly env: unknown };
  assert.deepEqual(settings.env, { bosh: { parallel: 2 } });
});

test('a size of job_dir without tmpfs has no effect', async (t) => {
  const { cloud, api } = await testCloud(t);
  const env = { bosh: { job_dir: { tmpfs: false, tmpfs_size: '50%' } } };
  const [name] = await createVm(cloud, createVmRequest({ env }));
  const pod = await api.get<Pod>({ resource: pods, namespace, name });
  assert.equal(
    pod.spec.volumes?.some((volume) => volume.name === 'jobs'),
    false,
  );
});

test('a job_dir that is none is refused before anything is made', async (t) => {
  const { cloud, api } = await testCloud(t);
  for (const [job_dir, message] of [
    [{ tmpfs: 'yes' }, /env\.bosh\.job_dir\.tmpfs must be true or false/u],
    [{ tmpfs: true, tmpfs_size: '50%' }, /env\.bosh\.job_dir\.tmpfs_size must be a number of bytes, KiB/u],
    [{ tmpfs: true, tmpfs_size: '0m' }, /tmpfs_size must be/u],
  ] as const)
    await assert.rejects(createVm(cloud, createVmRequest({ env: { bosh: { job_dir } } })), {
      code: 'INVALID_ARGUMENT',
      message,
    });
  assert.deepEqual(await namesLeft(api), []);
});

test('the configured mbus, ntp and blobstore are in the settings, whatever the env has for the agent to prefer', async (t) => {
  const agent = {
    mbus: 'nats://configured:4222',
    ntp: ['ntp.example', '10.0.0.3'],
    blobstore: {
      provider: 'dav',
      options: { endpoint: 'https://blobs.example', password: 'blob-pass-word' },
    },
  };
  const { cloud, api } = await testCloud(t, { agent });
  const env = { bosh: { mbus: { urls: ['nats://of-the-env:4222'] }, ntp: ['ntp.of-the-env'] } };
  const [name] = await createVm(cloud, createVmRequest({ env }));

  const settings = JSON.parse(await settingsOf(api)) as Record<string, unknown>;
  assert.deepEqual(settings, { ...settings, ...agent, env });
  const pod = JSON.stringify(await api.get<Pod>({ resource: pods, namespace, name }));
  assert.doesNotMatch(pod, /blob-pass-word/u);
});

test('without a configured mbus the agent is told the first of its env', async (t) => {
  const { cloud, api } = await testCloud(t, { agent: {} });
  const env = { bosh: { mbus: { urls: ['nats://first:4222', 'nats://second:4222'] } } };
  await createVm(cloud, createVmRequest({ env }));

  const { mbus } = JSON.parse(await settingsOf(api)) as { mbus: unknown };
  assert.equal(mbus, 'nats://first:4222');
});

test('an agent that would not know whom to speak to is not made: the error names the property and the env', async (t) => {
  const { cloud, api } = await testCloud(t, { agent: {} });
  const wrong = [undefined, null, [], [7], 'nats://text:4222'].map((urls) => ({ bosh: { mbus: { urls } } }));
  for (const env of [{}, { bosh: null }, { bosh: { mbus: null } }, ...wrong]) {
    await assert.rejects(
      createVm(cloud, createVmRequest({ env })),
      rejection('INVALID_CONFIG', /config\.agent\.mbus is not set and env\.bosh\.mbus\.urls is empty/u),
    );
  }
  assert.deepEqual(await namesLeft(api), []);
});

test("the network's name servers are the pod's, the first three of them, and the agent has none to set up", async (t) => {
  const { cloud, api } = await testCloud(t);
  const dns = ['10.0.0.2', 'fd00:0::2', '8.8.8.8', '9.9.9.9'];
  const networks = { default: { type: 'manual', ip: '127.64.0.10', dns, cloud_properties: {} } };
  const [name, given] = await createVm(cloud, createVmRequest({ networks }));

  const { spec } = await api.get<Pod>({ resource: pods, namespace, name });
  assert.equal(spec.dnsPolicy, 'None');
  assert.deepEqual(spec.dnsConfig, { nameservers: ['10.0.0.2', 'fd00::2', '8.8.8.8'] });
  assert.deepEqual(given['default']?.['dns'], dns);
  assert.doesNotMatch(await settingsOf(api), /dns|8\.8\.8\.8/u);
});

test('the same call again gives the same VM', async (t) => {
  const { cloud, api } = await testCloud(t);
  const first = await createVm(cloud, createVmRequest());
  const { metadata } = await api.get<Pod>({ resource: pods, namespace, name: first[0] });
  const second = await createVm(cloud, createVmRequest());

  assert.deepEqual(second, first);
  assert.equal(
    (await api.get<Pod>({ resource: pods, namespace, name: first[0] })).metadata.uid,
    metadata.uid,
  );
});

test('a changed request for the same agent replaces the VM', async (t) => {
  const { cloud, api } = await testCloud(t);
  const [name] = await createVm(cloud, createVmRequest());
  const { metadata } = await api.get<Pod>({ resource: pods, namespace, name });
  await createVm(cloud, createVmRequest({ env: { bosh: { group: 'other' } } }));

  assert.notEqual((await api.get<Pod>({ resource: pods, namespace, name })).metadata.uid, metadata.uid);
  assert.deepEqual(await namesLeft(api), [`pods ${name}`, `secrets ${name}`]);
});

test('an image that cannot be pulled: not to be retried, nothing left', async (t) => {
  const { cloud, api } = await testCloud(t);
  await assert.rejects(
    createVm(cloud, createVmRequest({ image: brokenImage })),
    rejection('VM_CREATION_FAILED', /ImagePullBackOff.*no such image/u),
  );
  assert.deepEqual(await namesLeft(api), []);
});

test("no node for it until the deadline: final, since each of a director's five tries would wait again; nothing left", async (t) => {
  const { cloud, api, node } = await testCloud(t);
  node.unschedulable = '0/1 nodes are available: 1 Insufficient cpu.';
  await assert.rejects(
    createVm(cloud, createVmRequest()),
    rejection('VM_CREATION_FAILED', /waited 2 s .*Insufficient cpu/u),
  );
  assert.deepEqual(await namesLeft(api), []);
});

test('another address than the one asked for: an error that names the remedy, nothing left', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  node.ownAddress = '10.0.0.7';
  await assert.rejects(
    createVm(cloud, createVmRequest()),
    rejection('VM_CREATION_FAILED', /10\.0\.0\.7 instead of 127\.64\.0\.10.*static-ip/u),
  );
  assert.deepEqual(await namesLeft(api), []);
});

test('an address that another VM has: an error before anything is made', async (t) => {
  const { cloud, api } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  await assert.rejects(
    createVm(cloud, createVmRequest({ agentId: 'another' })),
    rejection('VM_CREATION_FAILED', /has the address 127\.64\.0\.10/u),
  );
  assert.deepEqual(await namesLeft(api), [`pods ${vmCidOfTest}`, `secrets ${vmCidOfTest}`]);
});

test('a dynamic network gets whatever address there is', async (t) => {
  const { cloud } = await testCloud(t);
  const [, networks] = await createVm(cloud, createVmRequest({ networks: { default: { type: 'dynamic' } } }));
  assert.match(String(networks['default']?.['ip']), /^127\.64\.1\./u);
});

const failed = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' } as const;
const away = new ApiError({ ...failed, reason: 'ServiceUnavailable', code: 503, message: 'no leader' });
const early: readonly [string, object, (api: KubernetesApi) => Partial<KubernetesApi>][] = [
  ['the API groups', {}, () => ({ groups: () => Promise.reject(away) })],
  [
    'the VMs that have its address',
    {},
    (api) => ({
      list: (resource, query) =>
        query?.labelSelector?.includes('ip.bosh') === true ? Promise.reject(away) : api.list(resource, query),
    }),
  ],
  ['the create that is not carried out', { attach: 'auto' }, () => ({ create: () => Promise.reject(away) })],
];
for (const [what, kubernetes, change] of early) {
  test(`an API server that is away when create_vm asks for ${what}: to be retried, as one request later`, async (t) => {
    const { cloud, api } = await testCloud(t, { kubernetes });
    const unsteady = { ...interceptingApi(api, () => Promise.resolve()), ...change(api) };
    await assert.rejects(
      createVm({ ...cloud, api: unsteady }, createVmRequest()),
      rejection(
        'VM_CREATION_FAILED_RETRY',
        /VM 'vm-\S+' in namespace \S+ could not be created: .*no leader/u,
      ),
    );
    assert.deepEqual(await namesLeft(api), []);
  });
}

test('a former holder of its address that does not go: to be retried', async (t) => {
  const { cloud, api, node } = await testCloud(t);
  await createVm(cloud, createVmRequest());
  // without the node, no kubelet ends its pod
  await node.stop();
  await api.delete({ resource: pods, namespace, name: vmCidOfTest });
  const deadlines = { ...cloud.config.deadlines, createVm: 1 };
  const impatient = { ...cloud, config: { ...cloud.config, deadlines } };
  await assert.rejects(
    createVm(impatient, createVmRequest({ agentId: 'another' })),
    rejection('VM_CREATION_FAILED_RETRY', /VM 'vm-another' .* waited 1 s for VM .* still has the address/u),
  );
});

const refused: readonly [string, Parameters<typeof createVmRequest>[0], ErrorCode, RegExp][] = [
  [
    'an unknown cloud property',
    { properties: { instance_type: 'x' } },
    'INVALID_ARGUMENT',
    /"instance_type"/u,
  ],
  ['a key of another CPI', { properties: { instance_group: {} } }, 'INVALID_ARGUMENT', /"instance_group"/u],
  [
    'a quantity that is none',
    { properties: { resources: { requests: { cpu: 'lots' } } } },
    'INVALID_ARGUMENT',
    /requests\.cpu/u,
  ],
  ['no network', { networks: {} }, 'INVALID_ARGUMENT', /names no network/u],
  [
    'two networks',
    { networks: { a: { type: 'dynamic' }, b: { type: 'dynamic' } } },
    'NOT_SUPPORTED',
    /a, b/u,
  ],
  [
    'a vip without ports',
    { networks: { a: { type: 'vip', ip: '1.2.3.4' } } },
    'INVALID_ARGUMENT',
    /a\.cloud_properties\.vip/u,
  ],
  ['an unknown network type', { networks: { a: { type: 'odd' } } }, 'INVALID_ARGUMENT', /a\.type/u],
  ['an address that is none', { networks: { a: { ip: '127.64.0' } } }, 'INVALID_ARGUMENT', /a\.ip/u],
  [
    'an unknown network property',
    { networks: { a: { ip: '127.64.0.9', cloud_properties: { name: 'x' } } } },
    'INVALID_ARGUMENT',
    /"name"/u,
  ],
  ['an image that is none', { image: 'no image' }, 'INVALID_ARGUMENT', /stemcell_cid/u],
  ['an agent id that is none', { agentId: '' }, 'INVALID_ARGUMENT', /agent_id/u],
];

for (const [name, changes, code, message] of refused) {
  test(`refused before anything is made: ${name}`, async (t) => {
    const { cloud, api } = await testCloud(t);
    const args = createVmArguments(createVmRequest(changes));
    await assert.rejects(verbOf('create_vm')(cloud, args), rejection(code, message));
    assert.deepEqual(await namesLeft(api), []);
  });
}
