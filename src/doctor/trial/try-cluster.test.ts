import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import {
  startSimulatedCluster,
  type SimulatedCluster,
} from '../../../embedded-cluster/testing/simulated-cluster.ts';
import type { CallContext } from '../../cpi/call.ts';
import { createDisk } from '../../cpi/disk/create-disk.ts';
import {
  persistentVolumeClaims,
  pods,
  secrets,
  services,
  storageClasses,
} from '../../kubernetes/resources.ts';
import { ProductError } from '../../errors/product-error.ts';
import { systemClock } from '../../platform/clock.ts';
import { apiWith, forbidden } from '../../kubernetes/testing/api-with.ts';
import type { KubernetesApi } from '../../kubernetes/api.ts';
import { openApi } from '../../kubernetes/client/rest-api.ts';
import { loadAccess } from '../../kubernetes/access/kubeconfig-access.ts';
import { readClusterFacts, type ClusterFacts } from '../cluster/cluster-facts.ts';
import type { Finding } from '../finding.ts';
import { trialCall, type TrialPorts } from './trial-call.ts';
import { tryCluster, type TrialRequest } from './try-cluster.ts';
import { tryVm } from './try-vm.ts';

const request: TrialRequest = {
  ...{ namespace: 'bosh', diskNamespace: 'bosh', imagePullSecrets: [], kubeletRootDirectory: undefined },
  ...{
    image: { image: 'registry.example/stemcell:1', architecture: undefined },
    storageClass: undefined,
    diskSizeMiB: 1024,
  },
  address: undefined,
};

interface Setting {
  readonly cluster: SimulatedCluster;
  readonly ports: TrialPorts;
  readonly left: () => Promise<string[]>;
  readonly run: (changes?: {
    readonly exec?: CallContext['exec'];
    readonly api?: KubernetesApi;
    readonly signal?: AbortSignal;
    readonly request?: Partial<TrialRequest>;
    readonly facts?: Partial<ClusterFacts>;
  }) => Promise<readonly Finding[]>;
}

/** Every command in a pod has the output of the one in the VM, and is successful. */
const successful: CallContext['exec'] = () =>
  Promise.resolve({ exitCode: 0, stdout: 'doctor\n', stderr: '' });

async function setting(t: TestContext): Promise<Setting> {
  const cluster = await startSimulatedCluster({ nodes: [{ name: 'node-1' }] });
  t.after(() => cluster.stop());
  const { api } = cluster;
  const ports: TrialPorts = {
    ...{ api, exec: successful, clock: systemClock, newUuid: randomUUID, onProgress: () => undefined },
  };
  const rest = await openApi(await loadAccess(cluster.kubeconfig));
  t.after(() => rest.close());
  const left = async (): Promise<string[]> => {
    const all = await Promise.all(
      [pods, secrets, services, persistentVolumeClaims].map((each) => api.list(each, { namespace: 'bosh' })),
    );
    return all.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
  };
  const run: Setting['run'] = async ({ exec = successful, signal, ...changes } = {}) => {
    const facts = { ...(await readClusterFacts(rest, request)), ...changes.facts };
    return tryCluster(
      { ...request, ...changes.request },
      {
        ...{
          ...ports,
          ...(changes.api && { api: changes.api }),
          exec,
          facts,
          connect: () => Promise.resolve(),
        },
        signal: signal ?? new AbortController().signal,
      },
    );
  };
  return { cluster, ports, left, run };
}

const summary = (findings: readonly Finding[]): readonly unknown[] =>
  findings.map(({ check, result }) => `${check}: ${result}`);

test('a trial tries each part and leaves nothing, and removes only what a killed trial has left', async (t) => {
  const { ports, left, run } = await setting(t);
  const own = { ...trialCall(request, ports), directorUuid: 'director-1' };
  const disk = await createDisk(own, { sizeMiB: 1, cloudProperties: {} });
  const killed = trialCall(request, ports);
  await tryVm(killed, { ...request, profile: 'privileged' });
  await createDisk(killed, { sizeMiB: 1, cloudProperties: {} });
  const findings = await run({ request: { address: '10.9.8.7' } });
  assert.deepEqual(
    summary(findings),
    ['VM: ok', 'Node port: ok', 'Disk: ok', 'Fixed address: ok'],
    JSON.stringify(findings),
  );
  assert.match(findings[2]?.detail ?? '', /^1024 MiB, attached \(hot\) after .* s, written and read$/u);
  assert.deepEqual(await left(), [disk]);
});

test('objects that the user may create but not delete are a failed row', async (t) => {
  const { cluster, left, run } = await setting(t);
  const refused = (): Promise<never> => Promise.reject(forbidden('delete', pods));
  const findings = await run({ api: apiWith<KubernetesApi>(cluster.api, { delete: refused }) });
  assert.equal(summary(findings).at(-1), 'Removal: failed', JSON.stringify(findings));
  assert.match(findings.at(-1)?.remedy ?? '', /director-id=bosh-kubernetes-doctor/u);
  assert.notDeepEqual(await left(), []);
  const again = await run({ api: apiWith<KubernetesApi>(cluster.api, { delete: refused }) });
  assert.deepEqual(summary(again), ['Trial: unknown']);
});

test('an interrupted trial ends with the reason of the signal, and leaves nothing', async (t) => {
  const { left, run } = await setting(t);
  const interrupted = new AbortController();
  let seen: readonly string[] = [];
  const exec = async (): Promise<never> => {
    seen = await left();
    interrupted.abort(new Error('interrupted by SIGINT'));
    return new Promise(() => undefined);
  };
  await assert.rejects(run({ exec, signal: interrupted.signal }), /interrupted by SIGINT/u);
  assert.ok(
    seen.some((name) => name.startsWith('attach-disk-')),
    seen.join(),
  );
  assert.deepEqual(await left(), []);
});

test('an interrupt that a method of the CPI reports as its own error ends the trial, too', async (t) => {
  const { left, run } = await setting(t);
  const interrupted = new AbortController();
  const exec: CallContext['exec'] = (command) => {
    if (!command.command.includes('doctor')) return successful(command);
    interrupted.abort(new Error('interrupted by SIGINT'));
    return Promise.reject(new ProductError('DEADLINE', 'the command was stopped'));
  };
  await assert.rejects(run({ exec, signal: interrupted.signal }), /interrupted by SIGINT/u);
  assert.deepEqual(await left(), []);
});

test('the node port is tried by a user who may only get nodes, and on a node that is new', async (t) => {
  const { run } = await setting(t);
  for (const nodes of [undefined, []]) {
    const findings = await run({ facts: { nodes } });
    assert.equal(findings[1]?.result, 'ok', JSON.stringify(findings));
  }
});

test('a disk that cannot be written has failed, and is removed', async (t) => {
  const { left, run } = await setting(t);
  const exec: CallContext['exec'] = (command) =>
    command.command.includes('doctor')
      ? Promise.resolve({ exitCode: 1, stdout: '', stderr: 'Read-only file system\n' })
      : successful(command);
  const findings = await run({ exec });
  assert.deepEqual(summary(findings), ['VM: ok', 'Node port: ok', 'Disk: failed']);
  assert.match(findings[2]?.detail ?? '', /could not be written and read: Read-only file system$/u);
  assert.deepEqual(await left(), []);
});

test('no disk of a class that keeps its volumes is made', async (t) => {
  const { cluster, left, run } = await setting(t);
  const kept = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'kept' } };
  await cluster.api.create(storageClasses, {
    ...{ ...kept, provisioner: 'bosh-kubernetes.io/local', reclaimPolicy: 'Retain' },
  });
  const findings = await run({ request: { storageClass: 'kept' } });
  assert.deepEqual(summary(findings), ['VM: ok', 'Node port: ok', 'Disk: unknown']);
  assert.match(findings[2]?.remedy ?? '', /--storage-class/u);
  assert.deepEqual(await left(), []);
});
