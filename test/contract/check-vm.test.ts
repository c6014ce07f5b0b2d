import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import type { CallContext } from '../../src/cpi/call.ts';
import { parseConfig } from '../../src/cpi/config/config.ts';
import { explainApiError } from '../../src/cpi/errors/explain-api-error.ts';
import { createVmRequest } from '../../src/cpi/testing/test-cloud.ts';
import { checkVm } from '../../src/cpi/vm/check-vm.ts';
import { planVm } from '../../src/cpi/vm/plan-vm.ts';
import { vmSecret } from '../../src/cpi/vm/secret.ts';
import { vmClaims } from '../../src/cpi/vm/claims.ts';
import { podTemplate } from '../../src/cpi/vm/pod.ts';
import { parseVmSpec } from '../../src/cpi/vm/vm-spec.ts';
import { withOwner } from '../../src/cpi/vm/vms.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import {
  namespaces,
  persistentVolumeClaims,
  pods,
  resourceQuotas,
  secrets,
  serviceAccounts,
} from '../../src/kubernetes/resources.ts';
import { made, makePolicySubject, type PolicySubject } from './policy-subject.ts';
import { until } from '../support/until.ts';
import type { CreateVmRequest } from '../../src/cpi/protocol/methods.ts';

/**
 * The API behaviour that check_vm depends on (kubernetes.io: Kubernetes API Concepts, dry-run): a dry-run
 * create is admitted, rejected and counted like a real one.
 */
let subject: PolicySubject;
before(async () => {
  subject = await makePolicySubject();
  const account = { resource: serviceAccounts, namespace: subject.namespace, name: 'default' };
  await until('the default service account', () => subject.admin.api.get(account).catch(() => undefined));
});
after(() => subject.end());

const cloudWith = (kubernetes: object): CallContext => ({
  api: subject.admin.api,
  exec: () => Promise.reject(new Error('nothing runs here')),
  config: parseConfig({ kubernetes, agent: { mbus: 'https://mbus:secret@0.0.0.0:6868' } }, {}),
  namespace: subject.namespace,
  diskNamespace: subject.namespace,
  clock: systemClock,
  newUuid: randomUUID,
  directorUuid: undefined,
  log: () => undefined,
  reportProgress: () => undefined,
});

const argumentsOf = (agentId: string, properties: object): CreateVmRequest =>
  createVmRequest({ agentId, properties, networks: { default: { type: 'dynamic' } } });

const small = { cpu: '1m' };
const check = async (cloud: CallContext, properties: object, existing?: string): Promise<string[]> => {
  const present = await names();
  try {
    return await checkVm(cloud, { ...argumentsOf('next', properties), formerVmCid: existing });
  } catch (error) {
    throw isApiError(error) ? explainApiError(error) : error;
  } finally {
    assert.deepEqual(await names(), present);
  }
};

async function names(): Promise<string[]> {
  const lists = [pods, secrets, persistentVolumeClaims].map((resource) =>
    subject.admin.api.list<KubernetesObject>(resource, { namespace: subject.namespace }),
  );
  return (await Promise.all(lists)).flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
}

/** Creates the objects of a VM as create_vm does; nothing checks that it runs. */
async function standIn(cloud: CallContext, agentId: string): Promise<string> {
  const { api } = cloud;
  const spec = parseVmSpec(cloud, argumentsOf(agentId, small));
  const plan = await planVm(cloud, spec);
  const secret = await api.create(secrets, vmSecret(cloud, plan));
  if (plan.facts.attach === 'recreate')
    for (const claim of vmClaims(cloud, spec))
      await api.create(persistentVolumeClaims, withOwner(claim, secret));
  await api.create(pods, withOwner(podTemplate(cloud, plan), secret));
  return spec.cid;
}

for (const attach of ['hot', 'recreate']) {
  test(`a quota that one VM fills (${attach}) has room only for the VM that replaces it`, async () => {
    const { admin, namespace } = subject;
    const cloud = cloudWith({ attach });
    assert.deepEqual(await check(cloud, small), []);
    const existing = await standIn(cloud, attach);
    const present = await names();
    const claims = present.filter((name) => name.startsWith(`${existing}-`)).length;
    const { items } = await admin.api.list(secrets, { namespace });
    const name = `full-${attach}`;
    const hard = {
      pods: '1',
      'requests.cpu': '10m',
      persistentvolumeclaims: String(claims),
      'count/secrets': String(items.length),
    };
    await admin.api.create(resourceQuotas, made(namespace, name, { spec: { hard } }));
    // the admission plugin reads quotas through its own watch
    await until('the quota to refuse', async () => {
      const more = { ...podTemplate(cloud, await planOf(cloud)) };
      const path = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
      const { status, body } = await admin.call('POST', path, more);
      return status === 403 && String(body['message']).includes('exceeded quota') ? true : undefined;
    });

    assert.deepEqual(await check(cloud, small, existing), []);
    await assert.rejects(check(cloud, small), /ResourceQuota full-\w+ leaves no room: /u);
    await assert.rejects(
      check(cloud, { cpu: '50m' }, existing),
      /ResourceQuota full-\w+ leaves no room: requests\.cpu 50m requested, \d+m used \(\d+m of it by the VM/u,
    );

    await admin.api.delete({ resource: resourceQuotas, namespace, name });
    await admin.api.delete({ resource: secrets, namespace, name: existing });
    await until('the VM to go', async () =>
      (await names()).some((one) => one.startsWith(existing)) ? undefined : true,
    );
  });
}

async function planOf(cloud: CallContext): ReturnType<typeof planVm> {
  return planVm(cloud, parseVmSpec(cloud, argumentsOf('more', small)));
}

test('missing classes and accounts are reported, and VMs that Pod Security or a LimitRange rejects', async (t) => {
  const { admin, namespace, isReal } = subject;
  const cloud = cloudWith({});
  for (const [properties, message] of [
    [{ ephemeral_disk: { storage_class: 'none' } }, /does not have: "none"/u],
    [{ priority_class: 'none' }, /correct priority_class/u],
    [{ runtime_class: 'none' }, /correct runtime_class/u],
    [{ service_account: 'none' }, /correct service_account/u],
  ] as const)
    await assert.rejects(check(cloud, properties), message);
  if (isReal) {
    const spec = { limits: [{ type: 'Container', max: { cpu: '1' } }] };
    const path = `/api/v1/namespaces/${namespace}/limitranges`;
    assert.equal((await admin.call('POST', path, made(namespace, 'small', { spec }))).status, 201);
    await until('the LimitRange to refuse', () =>
      check(cloud, { resources: { requests: { cpu: 2 }, limits: { cpu: 2 } } }).then(
        () => undefined,
        (error: unknown) => {
          assert.match(String(error), /maximum cpu usage per Container is 1.*or the LimitRange/u);
          return true;
        },
      ),
    );
    await admin.call('DELETE', `${path}/small`);
  } else t.diagnostic('the embedded cluster has no LimitRanges');
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await admin.api.patch({ resource: namespaces, name: namespace }, { metadata: { labels } });
  await assert.rejects(check(cloud, small), /violates PodSecurity "baseline:latest"/u);
});
