import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type LocalApi, openLocalApi } from '../../embedded-cluster/api-server/local-api.ts';
import { startApiServer, type ApiServer } from '../../embedded-cluster/api-server/start-api-server.ts';
import { FakeConsole } from '../../embedded-cluster/api-server/testing/fake-console.ts';
import { startControllers } from '../../embedded-cluster/controllers/start-controllers.ts';
import { FakeProvisioner } from '../../embedded-cluster/controllers/testing/cluster-fixture.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { PodDisruptionBudget } from '../../src/kubernetes/types/service.ts';
import { nodes, podDisruptionBudgets, pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import type { Ran } from '../support/run.ts';
import { hasKubectl, Kubectl } from './kubectl.ts';

const skip = (await hasKubectl()) ? false : 'needs kubectl on PATH';

describe('kubectl with access control and policies', { skip }, () => {
  const directory = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-kubectl-'));
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const robot = '--as=system:serviceaccount:bosh:robot';
  let api: LocalApi;
  let server: ApiServer;
  let controllers: { stop(): Promise<void> };
  let kubectl: Kubectl;

  before(async () => {
    api = await openLocalApi({ directory });
    server = await startApiServer({ api, console: new FakeConsole(), directory, onError });
    const provisioner = new FakeProvisioner();
    controllers = await startControllers({
      api,
      provisioner,
      clock: systemClock,
      random: Math.random,
      onError,
    });
    kubectl = new Kubectl(server.kubeconfig, directory);
  });
  after(async () => {
    await controllers.stop();
    await server.close();
    await api.close();
    rmSync(directory, { recursive: true });
    assert.deepEqual(errors, []);
  });

  async function output(args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await kubectl.run(args);
    assert.equal(exitCode, 0, `kubectl ${args.join(' ')}: ${stderr}`);
    return stdout;
  }

  test('auth whoami and can-i show the permissions that create serviceaccount, role and rolebinding grant', async () => {
    assert.match(await output(['auth', 'whoami']), /^Groups +\[system:masters system:authenticated\]$/mu);
    assert.equal(await output(['auth', 'can-i', 'create', 'pods']), 'yes\n');
    await output(['create', 'serviceaccount', 'robot']);
    await output(['create', 'role', 'reader', '--verb=get,list', '--resource=pods,pods/log']);
    await output(['create', 'rolebinding', 'reader', '--role=reader', '--serviceaccount=bosh:robot']);
    await output(['create', 'clusterrole', 'seer', '--verb=get', '--resource=nodes']);
    await output([
      'create',
      'clusterrolebinding',
      'seer',
      '--clusterrole=seer',
      '--serviceaccount=bosh:robot',
    ]);
    assert.equal(await output(['auth', 'can-i', 'list', 'pods', robot]), 'yes\n');
    assert.equal((await kubectl.run(['auth', 'can-i', 'delete', 'pods', robot])).stdout, 'no\n');
    assert.match(await output(['auth', 'can-i', '--list', robot]), /^pods\/log +\[\] +\[\] +\[get list\]$/mu);
    const refused = await kubectl.run(['delete', 'pod', 'x', robot]);
    assert.match(
      refused.stderr,
      /^Error from server \(Forbidden\): pods "x" is forbidden: User "system:serviceaccount:bosh:robot" cannot delete resource "pods" in API group "" in the namespace "bosh"$/mu,
    );
    assert.match(await output(['describe', 'role', 'reader']), /^ +pods +\[\] +\[\] +\[get list\]$/mu);
  });

  test('create token returns a token of the account with the requested lifetime', async () => {
    const token = (await output(['create', 'token', 'robot', '--duration=10m'])).trim();
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<
      string,
      unknown
    >;
    assert.equal(claims['sub'], 'system:serviceaccount:bosh:robot');
    assert.equal(Number(claims['exp']) - Number(claims['iat']), 600);
  });

  test('apply creates the roles of the CPI', async () => {
    const directoryOfRoles = join(import.meta.dirname, '..', '..', 'manifests', 'rbac');
    const applied = await output([
      'apply',
      '-f',
      join(directoryOfRoles, 'namespaced.yaml'),
      '-f',
      join(directoryOfRoles, 'cluster.yaml'),
    ]);
    assert.match(applied, /^role\.rbac\.authorization\.k8s\.io\/bosh-cpi created$/mu);
    assert.equal(
      await output(['auth', 'can-i', 'create', 'pods', '--as=system:serviceaccount:bosh:bosh-cpi']),
      'yes\n',
    );
  });

  test('create quota, priorityclass and pdb create their objects', async () => {
    await output(['create', 'quota', 'few', '--hard=count/configmaps=9']);
    assert.match(await output(['describe', 'quota', 'few']), /^count\/configmaps +\d+ +9$/mu);
    await assert.rejects(
      output(['create', 'quota', 'scoped', '--hard=pods=1', '--scopes=BestEffort']),
      /unknown field "spec\.scopes" \(the embedded cluster accepts only fields that it implements\)/u,
    );
    await output(['create', 'priorityclass', 'high', '--value=1000']);
    assert.match(await output(['get', 'priorityclass', 'high']), /^NAME +AGE\nhigh +\d+s$/mu);
    await output(['create', 'pdb', 'half', '--selector=app=none', '--max-unavailable=50%']);
    assert.equal(await output(['get', 'pdb', 'half', '-o', 'jsonpath={.spec.maxUnavailable}']), '50%');
  });

  test('drain waits for a disruption budget, and empties the node when there is none', async () => {
    await api.create(nodes, { metadata: { name: 'drained' } });
    for (const name of ['kept-0', 'kept-1']) {
      const spec = { nodeName: 'drained', containers: [{ name: 'c', image: 'x:1' }] };
      await api.create(pods, { metadata: { namespace: 'bosh', name, labels: { app: 'kept' } }, ...{ spec } });
      const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
      await api.patch({ resource: pods, namespace: 'bosh', name }, { status }, { subresource: 'status' });
    }
    await output(['create', 'pdb', 'kept', '--selector=app=kept', '--min-available=1']);
    await until('the budget to allow one', async () => {
      const reference = { resource: podDisruptionBudgets, namespace: 'bosh', name: 'kept' };
      return (await api.get<PodDisruptionBudget>(reference)).status?.disruptionsAllowed === 1
        ? true
        : undefined;
    });
    const drain = (timeout: string): Promise<Ran> =>
      kubectl.run(['drain', 'drained', '--force', '--grace-period=0', `--timeout=${timeout}`]);
    const refused = await drain('2s');
    assert.notEqual(refused.exitCode, 0);
    assert.match(refused.stderr, /Cannot evict pod as it would violate the pod's disruption budget\./u);
    assert.equal((await api.list(pods, { namespace: 'bosh', labelSelector: 'app=kept' })).items.length, 1);
    await output(['delete', 'pdb', 'kept']);
    const { exitCode, stdout, stderr } = await drain('20s');
    assert.equal(exitCode, 0, stderr);
    assert.match(stdout, /^node\/drained drained$/mu);
    assert.equal((await api.list(pods, { namespace: 'bosh', labelSelector: 'app=kept' })).items.length, 0);
  });
});
