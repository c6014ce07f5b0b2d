import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { groupEnv } from '../../src/cpi/testing/test-cloud.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods, secrets } from '../../src/kubernetes/resources.ts';
import { objectsLeft } from '../crash/support/objects-left.ts';
import { until } from '../support/until.ts';
import { clause } from './clause.ts';
import { nowhere, soon, stranger } from './foreign-access.ts';
import { World } from './world.ts';

describe('VMs', () => {
  let world: World;
  before(async () => {
    world = await World.open();
  });
  after(() => world.close());

  clause('18a', async () => {
    const networks = { a: { type: 'dynamic', cloud_properties: null } };
    const result = await world.call<[string, unknown]>('create_vm', ...world.vmArguments({ networks }));
    assert.equal(result.length, 2);
    assert.deepEqual(Object.keys(result[1] as object), ['a']);
    await world.call('delete_vm', result[0]);
  });

  clause('18b', async () => {
    const agentId = randomUUID();
    const cid = await world.newVm({ agentId });
    assert.match(cid, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u);
    await world.call('delete_vm', cid);
    assert.equal(await world.newVm({ agentId }), cid);
    await world.call('delete_vm', cid);
  });

  clause('18c', async () => {
    for (const given of [null, {}]) {
      const cid = await world.newVm({ properties: given, disks: given === null ? null : [] });
      await world.call('delete_vm', cid);
    }
  });

  clause('19a', async () => {
    const existing = await world.objects();
    const everything = {
      services: [{ name: 'of-the-failed', ports: [{ port: 80 }] }],
      disruption_budget: true,
      node_selector: { 'conformance.test/none': 'none' },
    };
    for (const attach of ['hot', 'recreate']) {
      const settings = { kubernetes: { attach } };
      const args = world.vmArguments({ properties: everything, env: groupEnv('of-the-failed') });
      await world.refuses('VMCreationFailed', 'create_vm', args, { settings });
    }
    const [agent, , ...rest] = world.vmArguments();
    await world.refuses('VMCreationFailed', 'create_vm', [agent, 'registry.invalid/none:1', ...rest]);
    await until('what failed to be gone', async () => isDeepStrictEqual(await world.objects(), existing));
    await until(
      'claims and budgets too, which have no label of ours or another kind',
      async () => (await objectsLeft(world.api, world.namespace)).length === 0,
    );
  });

  clause('20a', async () => {
    const agentId = randomUUID();
    const args = world.vmArguments({ agentId });
    for (const delay of [30, 60, 120]) {
      const killed = world.request('create_vm', args, {
        onStart: (child) => setTimeout(() => child.kill('SIGKILL'), delay),
      });
      // it returned before it could be killed, or it was killed
      await Promise.allSettled([killed]);
    }
    const [cid] = await world.call<[string]>('create_vm', ...args);
    const [again] = await world.call<[string]>('create_vm', ...args);
    const { vms, secrets: made } = await world.objects();
    assert.equal(again, cid);
    assert.deepEqual(vms, [cid]);
    assert.deepEqual(made, [cid]);
    await world.call('delete_vm', cid);
  });

  clause('21a', async () => {
    const { error } = await world.request('create_vm', world.vmArguments({ properties: { cpu: 100_000 } }));
    assert.equal(error?.type, 'Bosh::Clouds::VMCreationFailed', error?.message);
    assert.equal(error.ok_to_retry, false);
    assert.match(error.message, /Insufficient cpu/u);
  });

  clause('21b', async () => {
    const [agent, , ...rest] = world.vmArguments();
    const { error } = await world.request('create_vm', [agent, 'registry.invalid/none:1', ...rest]);
    assert.equal(error?.type, 'Bosh::Clouds::VMCreationFailed', error?.message);
    assert.equal(error.ok_to_retry, false);
    assert.match(error.message, /registry\.invalid\/none:1/u);
    assert.match(error.message, /pull|not found/iu);
    const properties = { priority_class: 'there-is-no-such-class' };
    const priority = await world.request('create_vm', world.vmArguments({ properties }));
    assert.equal(priority.error?.ok_to_retry, false, priority.error?.message);
    assert.match(priority.error.message, /there-is-no-such-class/u);
  });

  clause('22a', async () => {
    const address = world.address();
    const cid = await world.newVm({ networks: world.manual(address) });
    assert.equal((await world.pod(cid)).status?.podIP, address);
    await world.call('delete_vm', cid);
  });

  clause('22b', async () => {
    const networks = world.manual(world.address());
    const cid = await world.newVm({ networks });
    const existing = await world.objects();
    await world.refuses('VMCreationFailed', 'create_vm', world.vmArguments({ networks }));
    assert.deepEqual(await world.objects(), existing);
    await world.call('delete_vm', cid);
  });

  clause('23a', async () => {
    const existing = await world.objects();
    for (const given of [
      { networks: { a: { type: 'quantum', cloud_properties: {} } } },
      { networks: world.manual('10.0.0.256') },
      { networks: world.manual('not an address') },
      { networks: {} },
      { networks: [] },
      { properties: { no_such_key: 1 } },
      { properties: 'large' },
      { properties: { cpu: -1 } },
      { properties: { memory: 'much' } },
      { properties: { ephemeral_disk: { size: 0 } } },
    ]) {
      const { error } = await world.request('create_vm', world.vmArguments(given));
      assert.ok(error !== null, JSON.stringify(given));
    }
    assert.deepEqual(await world.objects(), existing);
  });

  clause('24a', async () => {
    const existing = await world.objects();
    const properties = { services: [{ name: 'conformance', ports: [{ port: 80, target_port: 8080 }] }] };
    const cid = await world.newVm({ properties });
    assert.notDeepEqual((await world.objects()).services, existing.services);
    await world.call('delete_vm', cid);
    assert.equal(await world.podIsDeleted(cid), true);
    await until('the secondary objects to be gone', async () =>
      isDeepStrictEqual(await world.objects(), existing),
    );
  });

  clause('24b', async () => {
    await world.call('delete_vm', `vm-${randomUUID()}`);
  });

  clause('24c', async () => {
    const cid = await world.newVm();
    await Promise.all([world.call('delete_vm', cid), world.call('delete_vm', cid)]);
    assert.equal(await world.podIsDeleted(cid), true);
  });

  clause('25a', async () => {
    const cid = await world.newVm();
    assert.equal(await world.call('has_vm', cid), true);
    for (const other of [`vm-${randomUUID()}`, 'garbage', '../../etc', 'vm-A B', '', 'x'.repeat(300), 'ü']) {
      assert.equal(await world.call('has_vm', other), false, other);
    }
    const elsewhere = { settings: { kubernetes: { namespace: world.otherNamespace } } };
    assert.equal((await world.request('has_vm', [cid], elsewhere)).result, false);
    await world.call('delete_vm', cid);
    assert.equal(await world.call('has_vm', cid), false);
  });

  clause('25b', async () => {
    for (const kubeconfig of [nowhere, stranger(world.target)]) {
      const settings = { settings: { kubernetes: { kubeconfig }, deadlines: soon } };
      await world.refuses('CloudError', 'has_vm', [`vm-${randomUUID()}`], settings);
    }
    // its own account, in a namespace in which it has no role
    const forbidden = await world.refuses('CloudError', 'has_vm', [`vm-${randomUUID()}`], {
      settings: { kubernetes: { namespace: 'default' } },
    });
    assert.match(forbidden, /lacks the verb "get" on "pods" .*in namespace default/u);
  });

  clause('27a', async () => {
    const cid = await world.newVm();
    await world.call('set_vm_metadata', cid, everyKindOfValue);
    const { labels, annotations } = (await world.pod(cid)).metadata;
    const known = { deployment: 'cf', 'instance-group': 'router', index: '0', id: '0b1c' };
    for (const [name, value] of Object.entries(known)) {
      assert.equal(labels?.[`bosh.cloudfoundry.org/${name}`], value, name);
    }
    // a label cannot contain the space
    assert.match(labels?.['bosh.cloudfoundry.org/director'] ?? '', /^a[-_.]director/u);
    const kept = JSON.stringify(annotations);
    for (const value of ['router/0b1c', 'größe', 'x'.repeat(300), 'a director']) {
      assert.ok(kept.includes(value), `${value} is not kept`);
    }
    await world.call('delete_vm', cid);
  });

  clause('27b', async () => {
    const cid = await world.newVm();
    for (const deployment of ['one', 'two', 'two']) {
      await world.call('set_vm_metadata', cid, { deployment, job: 'a' });
    }
    assert.equal((await world.pod(cid)).metadata.labels?.['bosh.cloudfoundry.org/deployment'], 'two');
    await world.call('delete_vm', cid);
  });

  clause('27c', async () => {
    await world.refuses('VMNotFound', 'set_vm_metadata', [`vm-${randomUUID()}`, { a: 'b' }]);
  });

  clause('27d', async () => {
    const cid = await world.newVm();
    await world.call('set_vm_metadata', cid, { deployment: 'one', custom: 'unmistakable' });
    await world.call('set_vm_metadata', cid, { deployment: 'one' });
    assert.doesNotMatch(JSON.stringify((await world.pod(cid)).metadata), /unmistakable/u);
    await world.call('delete_vm', cid);
  });

  clause('28a', async () => {
    const requested = { cpu: 1, ram: 256, ephemeral_disk_size: 2048 };
    const properties = await world.call<object>('calculate_vm_cloud_properties', requested);
    const cid = await world.newVm({ properties });
    const pod = await world.pod(cid);
    const requests = pod.spec.containers[0]?.resources?.requests;
    assert.equal(requests?.['cpu'], '1');
    assert.equal(requests['memory'], '256Mi');
    assert.match(JSON.stringify(pod), /"(ephemeral-)?storage":"2(048Mi|Gi)"/u);
    await world.call('delete_vm', cid);
  });

  clause('28b', async () => {
    const unreachable = { settings: { kubernetes: { kubeconfig: nowhere } } };
    const requested = { cpu: 1, ram: 256, ephemeral_disk_size: 2048 };
    const { error } = await world.request('calculate_vm_cloud_properties', [requested], unreachable);
    assert.equal(error, null);
  });

  clause('29a', async () => {
    const common = 'x'.repeat(80);
    const groups = [`${common}-one`, `${common}-two`, common];
    const cids = await Promise.all(groups.map((group) => world.newVm({ env: { bosh: { group } } })));
    const labels = await Promise.all(cids.map(async (cid) => groupLabels(await world.pod(cid))));
    assert.equal(new Set(labels).size, 3, labels.join('\n'));
    for (const cid of cids) await world.call('delete_vm', cid);
  });

  clause('29b', async () => {
    const env = { bosh: { group: 'director-cf-router', groups: ['director', 'cf', 'router'] } };
    const members = [await world.newVm({ env }), await world.newVm({ env })].toSorted();
    const outsider = await world.newVm({ env: { bosh: { group: 'director-cf-api' } } });
    const [one, other] = (await Promise.all(members.map((cid) => world.pod(cid)))).map(({ spec }) => spec);
    assert.deepEqual(other?.affinity, one?.affinity);
    const [term] = one?.affinity?.podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    assert.ok(term !== undefined && term.weight > 0);
    const { topologyKey, labelSelector } = term.podAffinityTerm;
    assert.equal(topologyKey, 'kubernetes.io/hostname');
    const selector = Object.entries(labelSelector?.matchLabels ?? {}).map(
      ([key, value]) => `${key}=${value}`,
    );
    const query = { namespace: world.namespace, labelSelector: selector.join() };
    const selected = (await world.api.list<Pod>(pods, query)).items.map(({ metadata }) => metadata.name);
    assert.deepEqual(selected.toSorted(), members);
    // it is a preference; the embedded cluster has two nodes, and no other criterion
    if (world.target.kind === 'embedded') assert.notEqual(one?.nodeName, other?.nodeName);
    for (const cid of [...members, outsider]) await world.call('delete_vm', cid);
  });

  clause('30a', async () => {
    const cert = { ca: 'CA-OF-THE-TEST', certificate: 'CERTIFICATE', private_key: 'KEY-OF-THE-TEST' };
    const blobstores = [{ provider: 'dav', options: { endpoint: 'https://blobs.example' } }];
    const env = { bosh: { mbus: { cert }, blobstores, ntp: ['time.example'] }, custom: 'CUSTOM-OF-THE-TEST' };
    const cid = await world.newVm({ env });
    const text = await world.run(cid, `cat ${settingsPath}`);
    const settings = JSON.parse(text) as Record<string, unknown>;
    assert.match(JSON.stringify(settings['env']), /CA-OF-THE-TEST.*CUSTOM-OF-THE-TEST/u);
    for (const part of ['https://mbus:', 'blobs.example', 'time.example'])
      assert.ok(text.includes(part), part);
    await world.call('delete_vm', cid);
  });

  clause('30b', async () => {
    const cid = await world.newVm();
    assert.match(await world.run(cid, `stat -L -c %a ${settingsPath}`), /^[46]00\n$/u);
    await world.call('delete_vm', cid);
  });

  clause('30c', async () => {
    const env = { bosh: { password: 'HASH-OF-THE-TEST' }, secret: 'SECRET-OF-THE-TEST' };
    const cid = await world.newVm({ env });
    const { metadata } = await world.api.get({ resource: secrets, namespace: world.namespace, name: cid });
    const shown = JSON.stringify({ pod: await world.pod(cid), metadata });
    for (const secret of ['HASH-OF-THE-TEST', 'SECRET-OF-THE-TEST', 'mbus-password']) {
      assert.ok(!shown.includes(secret), secret);
    }
    await world.call('delete_vm', cid);
  });
});

const settingsPath = '/var/vcap/bosh/warden-cpi-agent-env.json';
const everyKindOfValue = {
  ...{
    director: 'a director',
    deployment: 'cf',
    name: 'router/0b1c',
    index: 0,
    job: 'router',
    id: '0b1c',
    compiling: 'a package',
  },
  ...{ created_at: '2026-11-21T00:00:00Z', long: 'x'.repeat(300), umlaut: 'größe', empty: '', nothing: null },
  ...{ truth: true, number: 1.5, list: [1], map: { a: 1 }, 'a key/with "signs"': 'value' },
};

function groupLabels({ metadata }: Pod): string {
  return JSON.stringify(Object.entries(metadata.labels ?? {}).filter(([key]) => key.includes('group')));
}
