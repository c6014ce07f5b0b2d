import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import { openApi, type RestApi } from '../../src/kubernetes/client/rest-api.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods, roleBindings, serviceAccounts } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import {
  admittedAttachment,
  admittedCopy,
  admittedSweeper,
  attachmentChanges,
  copyChanges,
  updates,
} from '../support/admission-changes.ts';
import { type Ran, run, runWell } from '../support/run.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { deniedBy, parametersOf, refusalOf, withDisksNamespace } from './support/disks-namespace.ts';

/** The API server's own rule applies first: no pod can be created with one. */
const refusedBefore = new Set(['a container for debugging']);

describeCluster('the policies of manifests/admission, by the CEL of a real API server', (world) => {
  test("the CPI's pods are admitted and each change of one is refused, before it is made and after", () =>
    withDisksNamespace(world(), async (disks) => {
      const { api } = world();
      assert.equal(await refusalOf(api, admittedSweeper(disks)), undefined);
      for (const [make, changes] of [
        [admittedAttachment, attachmentChanges],
        [admittedCopy, copyChanges],
      ] as const) {
        assert.equal(await refusalOf(api, make(disks)), undefined);
        for (const [what, change] of Object.entries(changes)) {
          const pod = make(disks);
          change(pod);
          const refusal = await refusalOf(api, pod);
          assert.ok(refusal !== undefined, `${pod.metadata.name} is admitted with ${what}`);
          if (!refusedBefore.has(what)) assert.match(refusal, deniedBy(disks, 'only'), what);
        }
        const { metadata } = await api.create<Pod>(pods, make(disks));
        const debug = ['debug', '--namespace', disks, metadata.name, '--image=registry.invalid/x:1'];
        const { exitCode, stderr } = await run([...world().cluster.kubectl, ...debug]);
        assert.notEqual(exitCode, 0, `${metadata.name} got a container for debugging`);
        assert.match(stderr, deniedBy(disks, 'unchanged'));
      }
      const { name } = admittedAttachment(disks).metadata;
      const reference = { resource: pods, namespace: disks, name };
      for (const [what, change] of Object.entries(updates)) {
        const pod = await api.get<Pod>(reference);
        change(pod);
        const message = await messageOf(() => api.replace(pods, pod));
        assert.match(message, deniedBy(disks, 'unchanged'), what);
      }
      for (const note of ['n', null]) await api.patch(reference, { metadata: { annotations: { note } } });
    }));

  test('an account with the role edit makes, changes and enters no pod, and cannot name itself as the CPI', () =>
    withDisksNamespace(world(), async (disks) => {
      const { api } = world();
      const developer = await openDeveloper(world(), disks);
      try {
        for (const make of [admittedAttachment, admittedSweeper, admittedCopy])
          assert.match((await refusalOf(developer.api, make(disks))) ?? '', deniedBy(disks, 'only'));
        const { metadata } = await api.create<Pod>(pods, admittedAttachment(disks));
        const name = metadata.name;
        const image = { spec: { containers: [{ name: 'hold', image: 'registry.invalid/evil:1' }] } };
        for (const [policy, ...command] of [
          ['unchanged', 'patch', 'pod', name, '--patch', JSON.stringify(image)],
          ['connect', 'exec', name, '--', 'id'],
          ['connect', 'attach', name],
          ['connect', 'get', '--raw', `/api/v1/namespaces/${disks}/pods/${name}/portforward?ports=10250`],
          ['connect', 'get', '--raw', `/api/v1/namespaces/${disks}/pods/${name}/proxy/`],
        ] as const) {
          const { exitCode, stderr } = await developer.kubectl(command);
          assert.notEqual(exitCode, 0, command.join(' '));
          assert.match(stderr, deniedBy(disks, policy), command.join(' '));
        }
        const { namespace = '', name: parameters } = parametersOf(disks);
        const accounts = JSON.stringify({ data: { accounts: developer.name } });
        const command = ['patch', 'configmap', parameters, '-n', namespace, '--type=merge', '-p', accounts];
        assert.match(
          (await developer.kubectl(command)).stderr,
          /cannot (?:get|patch) resource "configmaps"/u,
        );
      } finally {
        developer.api.close();
      }
    }));

  test('the CPI connects to its pods; without the ConfigMap no pod is admitted', () =>
    withDisksNamespace(world(), async (disks) => {
      const { api, cluster } = world();
      await api.create<Pod>(pods, admittedAttachment(disks));
      const { stderr } = await run([...cluster.kubectl, 'exec', '-n', disks, 'attach-disk-1', '--', 'id']);
      assert.match(stderr, /does not have a host assigned/u);
      await api.delete(parametersOf(disks));
      await until('the policy to be without its parameters', async () => {
        const refusal = await refusalOf(api, admittedSweeper(disks));
        if (refusal !== undefined) assert.match(refusal, /no params found/u);
        return refusal !== undefined;
      });
    }));
});

interface Developer {
  readonly api: RestApi;
  readonly name: string;
  kubectl(command: readonly string[]): Promise<Ran>;
}

/** Creates a service account with the role edit in that namespace. */
async function openDeveloper({ api, cluster }: ClusterWorld, namespace: string): Promise<Developer> {
  const [metadata, subject] = [
    { name: 'developer', namespace },
    { kind: 'ServiceAccount', name: 'developer', namespace },
  ];
  await api.create(serviceAccounts, { metadata });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' };
  await api.create(roleBindings, { metadata, roleRef, subjects: [subject] });
  const token = (await runWell([...cluster.kubectl, 'create', 'token', 'developer', '-n', namespace])).trim();
  const { server, ca } = cluster.access;
  const name = `system:serviceaccount:${namespace}:developer`;
  return {
    api: await openApi({ server, namespace, token, ...(ca !== undefined && { ca }) }),
    name,
    kubectl: (command) => run([...cluster.kubectl, '-n', namespace, `--as=${name}`, ...command]),
  };
}

/** Returns why the API server rejected the request. */
async function messageOf(request: () => Promise<unknown>): Promise<string> {
  try {
    await request();
    return 'it is admitted';
  } catch (error) {
    if (isApiError(error, 422) || isApiError(error, 403)) return error.message;
    throw error;
  }
}
