import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { namespaces, pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { unschedulablePod } from './contract-objects.ts';
import { makePolicySubject, type PolicySubject } from './policy-subject.ts';

/** Pod Security admission by the labels of a namespace (pod-security-admission: policy/, admission/). */
let subject: PolicySubject;
before(async () => {
  subject = await makePolicySubject();
});
after(() => subject.end());

async function label(labels: Readonly<Record<string, string | null>>): Promise<void> {
  const own = Object.fromEntries(
    Object.entries(labels).map(([name, value]) => [`pod-security.kubernetes.io/${name}`, value]),
  );
  const reference = { resource: namespaces, name: subject.namespace };
  await subject.admin.api.patch(reference, { metadata: { labels: own } });
}

type Container = Pod['spec']['containers'][number];

function podWith(name: string, container: Partial<Container>, spec: Partial<Pod['spec']> = {}): Pod {
  const pod = unschedulablePod(subject.namespace, name);
  const [main] = pod.spec.containers;
  assert(main !== undefined);
  return { ...pod, spec: { ...pod.spec, ...spec, containers: [{ ...main, ...container }] } };
}

type Answer = Awaited<ReturnType<PolicySubject['admin']['call']>>;

/** Waits until the labels take effect: the admission of a real server sees them with a delay. */
async function untilLabelsCount(pod: Pod, isAsLabelled: (answer: Answer) => boolean): Promise<void> {
  const dryRun = `/api/v1/namespaces/${subject.namespace}/pods?dryRun=All`;
  await until('the label to count', async () => isAsLabelled(await subject.admin.call('POST', dryRun, pod)));
}

async function refused(pod: Pod, message: string): Promise<void> {
  await untilLabelsCount(pod, ({ status }) => status === 403);
  await assert.rejects(subject.admin.api.create(pods, pod), (error) => {
    assert(isApiError(error, 403, 'Forbidden'), String(error));
    assert.equal(error.message, `pods "${pod.metadata.name}" is forbidden: violates PodSecurity ${message}`);
    return true;
  });
}

const privileged = { securityContext: { privileged: true } };

test('every pod is allowed without labels, and under privileged', async () => {
  await subject.admin.api.create(pods, podWith('free', privileged));
  await label({ enforce: 'privileged' });
  await subject.admin.api.create(pods, podWith('free-too', privileged));
});

test('baseline refuses pods that reach the node, and lists all violations', async () => {
  await label({ enforce: 'baseline' });
  await refused(
    podWith('bad', privileged),
    '"baseline:latest": privileged (container "main" must not set securityContext.privileged=true)',
  );
  const volumes = [{ name: 'host', hostPath: { path: '/x' } }];
  const container = { securityContext: { capabilities: { add: ['SYS_ADMIN', 'NET_RAW', 'CHOWN'] } } };
  await refused(
    podWith('worse', container, { hostNetwork: true, hostPID: true, volumes }),
    '"baseline:latest": non-default capabilities (container "main" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add), host namespaces (hostNetwork=true, hostPID=true), hostPath volumes (volume "host")',
  );
  await refused(
    podWith('open', { securityContext: { seccompProfile: { type: 'Unconfined' } } }),
    '"baseline:latest": seccompProfile (container "main" must not set securityContext.seccompProfile.type to "Unconfined")',
  );
  await subject.admin.api.create(pods, podWith('good', {}));
});

test('restricted needs explicit hardening, also in a dry run', async () => {
  await label({ enforce: 'restricted' });
  await refused(
    podWith('soft', {}),
    '"restricted:latest": allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
  );
  const hard: Pod['spec']['containers'][number]['securityContext'] = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    runAsNonRoot: true,
    runAsUser: 1000,
    seccompProfile: { type: 'RuntimeDefault' },
  };
  await refused(
    podWith('root', { securityContext: { ...hard, runAsUser: 0 } }),
    '"restricted:latest": runAsUser=0 (container "main" must not set runAsUser=0)',
  );
  await subject.admin.api.create(pods, podWith('hard', { securityContext: hard }));
  const path = `/api/v1/namespaces/${subject.namespace}/pods?dryRun=All`;
  assert.equal((await subject.admin.call('POST', path, podWith('dry', {}))).status, 403);
});

test('a policy version has the checks of its release: v1.18 needs no seccomp profile', async () => {
  await label({ enforce: 'restricted', 'enforce-version': 'v1.18' });
  const securityContext = { allowPrivilegeEscalation: false, runAsNonRoot: true };
  const old = podWith('old', { securityContext });
  await untilLabelsCount(old, ({ status }) => status === 201);
  await subject.admin.api.create(pods, old);
  await label({ 'enforce-version': null });
});

test('invalid labels are refused; warnings are sent and reject nothing', async () => {
  const { admin, namespace } = subject;
  await label({ enforce: null });
  await assert.rejects(label({ enforce: 'strict' }), (error) => {
    assert(isApiError(error, 422, 'Invalid'), String(error));
    assert.match(
      error.message,
      /metadata\.labels\[pod-security\.kubernetes\.io\/enforce\]: Invalid value: "strict": must be one of privileged, baseline, restricted/u,
    );
    return true;
  });
  await label({ warn: 'baseline' });
  const warned = podWith('warned', privileged);
  await untilLabelsCount(warned, ({ status, warning }) => status === 201 && warning !== undefined);
  const { status, warning } = await admin.call('POST', `/api/v1/namespaces/${namespace}/pods`, warned);
  assert.equal(status, 201);
  assert.equal(
    warning,
    '299 - "would violate PodSecurity \\"baseline:latest\\": privileged (container \\"main\\" must not set securityContext.privileged=true)"',
  );
  const labels = { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'baseline' } } };
  const stricter = await admin.call('PATCH', `/api/v1/namespaces/${namespace}`, labels);
  assert.match(
    stricter.warning ?? '',
    /existing pods in namespace \\"\S+\\" violate the new PodSecurity enforce level \\"baseline:latest\\"/u,
  );
});
