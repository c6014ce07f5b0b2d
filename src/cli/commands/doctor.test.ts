import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { packLightStemcell } from '../../bosh/stemcell/pack-light-stemcell.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { endedSession } from '../../cpi/testing/holder-console.ts';
import { profileSecurity } from '../../cpi/config/profile.ts';
import { probePod } from '../../doctor/probe-pod.ts';
import {
  startSimulatedCluster,
  type SimulatedCluster,
} from '../../../embedded-cluster/testing/simulated-cluster.ts';
import type { ExecSession } from '../../../embedded-cluster/node/pod-console.ts';
import { successExit } from '../../kubernetes/client/exec.ts';
import { namespaces, nodes, pods } from '../../kubernetes/resources.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { CommandContext } from '../command.ts';
import type { Installation } from '../installation.ts';
import { connectWith } from '../testing/connect-with.ts';
import { recordOutput, type RecordedOutput } from '../testing/record-output.ts';
import { jsonTerminal } from '../output/json-terminal.ts';
import { kubeconfigPath, withKubernetes } from '../cluster/kubeconfig.ts';
import { attempts } from '../../doctor/cloud-foundry-findings.ts';
import { doctor, runDoctor } from './doctor.ts';

const healthy = attempts.map((name) => `${name}\tyes\t`).join('\n');
const image = 'registry.example/stemcell:1';
const light = { name: 'light', version: '1', operatingSystem: 'debian-bookworm', imageReference: image };

interface Setting {
  readonly cluster: SimulatedCluster;
  /** Examines the nodes as those of a cluster that runs images. */
  readonly run: (
    args?: readonly string[],
    context?: Partial<CommandContext>,
    connect?: typeof withKubernetes,
  ) => Promise<RecordedOutput & { readonly exitCode: number }>;
  readonly probes: () => Promise<readonly Pod[]>;
}

/** Starts a cluster of two nodes in whose pods each command has this result. */
async function setting(t: TestContext, exec: () => Promise<ExecSession>): Promise<Setting> {
  const scratch = await scratchDirectory(t);
  const logs = (): never => assert.fail('no logs');
  const twoNodes = [{ name: 'node-1' }, { name: 'node-2' }];
  const cluster = await startSimulatedCluster({ nodes: twoNodes, console: { exec, logs } });
  t.after(() => cluster.stop());
  const kubeconfig = join(scratch, 'kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  const stemcell = join(scratch, 'stemcell.tgz');
  await packLightStemcell(light, stemcell);
  const flags = ['--with', 'cloud-foundry', '--kubeconfig', kubeconfig, '--stemcell', stemcell];
  const connected = connectWith(() => ({ version: () => Promise.resolve('v1.36.3') }));
  const run: Setting['run'] = async (args = [], context = {}, connect = connected) => {
    const heard = recordOutput();
    const installation = { root: scratch, clusterDirectory: join(scratch, 'embedded') } as Installation;
    const all = { ...heard.context, installation, ...context };
    const exitCode = await runDoctor([...flags, ...args], all, connect);
    return Object.assign(heard, { exitCode });
  };
  const probes = async (): Promise<readonly Pod[]> => (await cluster.api.list<Pod>(pods)).items;
  return { cluster, run, probes };
}

test('every node has its rows; a closed one is a warning; no pod stays, also not one of a killed run', async (t) => {
  const { cluster, run, probes } = await setting(t, () => endedSession(successExit, healthy));
  const taints = [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }];
  await cluster.api.patch({ resource: nodes, name: 'node-2' }, { spec: { taints } });
  const request = { namespace: 'bosh', node: 'node-1', image, imagePullSecrets: [] };
  await cluster.api.create<Pod>(pods, probePod(request));
  const { exitCode, out, errors } = await run();
  assert.equal(exitCode, 0, errors.join());
  assert.match(out, /^Cluster https:.*\n\nSubject +Check +Result +Detail\n/u);
  assert.match(out, /^node-1 +Link veth +ok +it works$/mu);
  assert.match(
    out,
    /^node-2 +Node for VMs +warning +not examined, because it has the taint .*control-plane:NoSchedule$/mu,
  );
  assert.equal(out.match(/^node-1 /gmu)?.length, attempts.length);
  assert.deepEqual(await probes(), []);
});

test('a cluster in which no node can run a VM of the stemcell fails', async (t) => {
  const { cluster, run } = await setting(t, () => endedSession(successExit, healthy));
  await cluster.api.patch({ resource: nodes, name: 'node-1' }, { spec: { unschedulable: true } });
  const labels = { 'kubernetes.io/os': 'windows' };
  await cluster.api.patch({ resource: nodes, name: 'node-2' }, { metadata: { labels } });
  const { exitCode, out } = await run();
  assert.equal(exitCode, 1);
  assert.match(out, /^node-1 +Node for VMs +failed +not examined, because it is unschedulable$/mu);
  assert.match(
    out,
    /^node-2 +Node for VMs +failed +not examined, because its operating system is windows$/mu,
  );
});

test('a failed check gives exit code 1, and --json has every row', async (t) => {
  const report = healthy.replace('overlay\tyes', 'overlay\tno');
  const { run, probes } = await setting(t, () => endedSession(successExit, report));
  let json = '';
  const output = jsonTerminal((text) => (json += text));
  const { exitCode } = await run([], { terminal: output.terminal });
  output.finish(exitCode);
  assert.equal(exitCode, 1);
  const { Tables, Lines } = JSON.parse(json) as {
    readonly Tables: { readonly Rows: Record<string, string>[] }[];
    readonly Lines: string[];
  };
  const failed = Tables[0]?.Rows.filter((row) => row['result'] === 'failed') ?? [];
  assert.deepEqual(
    failed.map((row) => [row['subject'], row['check'], row['remedy']]),
    ['node-1', 'node-2'].map((node) => [
      node,
      'Overlay',
      'load the module overlay on the node (modprobe overlay)',
    ]),
  );
  assert.match(Lines[0] ?? '', /^Cluster https:/u);
  assert.match(Lines[1] ?? '', /^2 of \d+ checks failed$/u);
  assert.deepEqual(await probes(), []);
});

test('a check that only some layouts need fails if the layout is one of them', async (t) => {
  const report = healthy.replace('vxlan\tyes', 'vxlan\tno').replace('cifs\tyes', 'cifs\tno');
  const { run } = await setting(t, () => endedSession(successExit, report));
  const failed = async (...args: string[]): Promise<unknown> => {
    const { exitCode, out } = await run(args);
    return [exitCode, [...out.matchAll(/^node-1 +(\S+(?: \S+)*) +failed /gmu)].map(([, check]) => check)];
  };
  assert.deepEqual(await failed(), [0, []]);
  assert.deepEqual(await failed('--needs', 'vxlan'), [1, ['Link vxlan']]);
  assert.deepEqual(await failed('--needs', 'vxlan', '--needs', 'volume-services'), [
    1,
    ['Link vxlan', 'CIFS'],
  ]);
});

test('the pod has the security context of a VM, and is for one node', async (t) => {
  let seen: readonly Pod[] = [];
  const { probes, run } = await setting(t, async () => {
    seen = await probes();
    return endedSession(successExit, healthy);
  });
  await run(['--image-pull-secret', 'registry']);
  const [container = assert.fail()] = seen[0]?.spec.containers ?? [];
  assert.deepEqual(container.securityContext, profileSecurity('privileged'));
  assert.equal(container.image, image);
  assert.deepEqual(seen[0]?.spec.imagePullSecrets, [{ name: 'registry' }]);
  assert.deepEqual(
    [...new Set(seen.map(({ spec }) => spec.nodeName))].toSorted((a = '', b = '') => a.localeCompare(b)),
    ['node-1', 'node-2'],
  );
});

test('a namespace that admits no privileged pods, or does not exist, is a failed row with the remedy', async (t) => {
  const { cluster, run } = await setting(t, () => endedSession(successExit, healthy));
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await cluster.api.patch({ resource: namespaces, name: 'bosh' }, { metadata: { labels } });
  const rejected = await run();
  assert.equal(rejected.exitCode, 1);
  assert.match(
    rejected.out,
    /^node-1 +VM of profile privileged +failed .*violates PodSecurity[^]*^ {2}kubectl label namespace bosh --overwrite pod-security\.kubernetes\.io\/enforce=privileged$/mu,
  );
  const missing = await run(['--namespace', 'elsewhere']);
  assert.match(missing.out, /^node-2 .* failed .*not found[^]*^ {2}kubectl create namespace elsewhere$/mu);
});

test('an interrupt while a probe runs ends the command, and no pod stays', async (t) => {
  const interrupted = new AbortController();
  const { run, probes } = await setting(t, () => {
    interrupted.abort(new Error('interrupted by SIGINT'));
    return endedSession(1);
  });
  await assert.rejects(run([], { signal: interrupted.signal }), {
    code: 'INTERRUPTED',
    message: /pods were removed: interrupted by SIGINT/u,
  });
  assert.deepEqual(await probes(), []);
});

test('a copy of the kubeconfig of an embedded cluster is refused before a pod is made', async (t) => {
  const { run } = await setting(t, () => assert.fail('a pod was made'));
  await assert.rejects(run([], {}, withKubernetes), {
    code: 'NOT_SUPPORTED',
    message: /^The embedded cluster runs no containers of images/u,
  });
});

test('bad arguments, a heavy stemcell and the embedded cluster are refused before any request', async (t) => {
  const scratch = await scratchDirectory(t);
  const { context } = recordOutput();
  const installation = { clusterDirectory: scratch } as Installation;
  const run = (...args: string[]): Promise<number> => doctor.run(args, { ...context, installation });
  const invalid = (message: RegExp): object => ({ code: 'INVALID_ARGUMENT', message });
  await assert.rejects(
    run('--with', 'x', '--stemcell', 'x'),
    invalid(/--with must be one of: cloud-foundry\. Usage: doctor/u),
  );
  await assert.rejects(run('--with', 'cloud-foundry'), invalid(/--stemcell FILE is missing/u));
  const all = ['--with', 'cloud-foundry', '--stemcell', join(scratch, 'none.tgz')];
  await assert.rejects(run(...all, '--namespace', 'A_b'), invalid(/not a valid name of a namespace/u));
  await assert.rejects(run(...all, '--needs', 'ipv6'), invalid(/--needs 'ipv6' must be one of: vxlan, vol/u));
  await assert.rejects(run(...all, '--image-pull-secret', 'A_b'), invalid(/not a valid name of a Secret/u));
  const kubeconfig = join(scratch, 'config');
  await assert.rejects(run(...all, '--kubeconfig', kubeconfig), { code: 'FILE_NOT_FOUND', message: /none/u });
  const heavy = join(scratch, 'heavy.tgz');
  const cloudProperties = { image_reference: null };
  await packLightStemcell({ ...light, cloudProperties }, heavy);
  await assert.rejects(run('--with', 'cloud-foundry', '--stemcell', heavy, '--kubeconfig', kubeconfig), {
    code: 'STEMCELL_INVALID',
    message: /is heavy/u,
  });
  await assert.rejects(run(...all, '--kubeconfig', kubeconfigPath(scratch)), {
    code: 'NOT_SUPPORTED',
    message: /embedded cluster/u,
  });
});
