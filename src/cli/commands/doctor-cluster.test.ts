import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { jsonTerminal } from '../output/json-terminal.ts';
import {
  startSimulatedCluster,
  type SimulatedCluster,
} from '../../../embedded-cluster/testing/simulated-cluster.ts';
import { parse, stringify } from 'yaml';
import { packLightStemcell } from '../../bosh/stemcell/pack-light-stemcell.ts';
import { scratchDirectory } from '../../bosh/testing/scratch.ts';
import { namespaces, nodes, pods, secrets, storageClasses } from '../../kubernetes/resources.ts';
import { closedPort } from '../../kubernetes/testing/closed-port.ts';
import { volumeAnnotations } from '../../kubernetes/types/storage.ts';
import type { CommandContext } from '../command.ts';
import type { Installation } from '../installation.ts';
import { connectWith } from '../testing/connect-with.ts';
import { light, useAccount } from '../testing/director-setting.ts';
import { recordOutput, type RecordedOutput } from '../testing/record-output.ts';
import { doctor, runDoctor } from './doctor.ts';
import { orphans } from './orphans.ts';

const root = join(import.meta.dirname, '..', '..', '..');

interface Setting {
  readonly cluster: SimulatedCluster;
  readonly kubeconfig: string;
  readonly clusterDirectory: string;
  readonly run: (
    args?: readonly string[],
    context?: Partial<CommandContext>,
  ) => Promise<RecordedOutput & { readonly exitCode: number }>;
}

async function setting(t: TestContext): Promise<Setting> {
  const scratch = await scratchDirectory(t);
  const cluster = await startSimulatedCluster({ nodes: [{ name: 'node-1' }, { name: 'node-2' }] });
  t.after(() => cluster.stop());
  const kubeconfig = join(scratch, 'kubeconfig');
  await writeFile(kubeconfig, cluster.kubeconfig, { mode: 0o600 });
  const clusterDirectory = join(scratch, 'embedded');
  const run: Setting['run'] = async (args = ['--kubeconfig', kubeconfig], context = {}) => {
    const heard = recordOutput();
    const installation = { root, clusterDirectory } as Installation;
    const exitCode = await doctor.run(args, { ...heard.context, installation, ...context });
    return Object.assign(heard, { exitCode });
  };
  return { cluster, kubeconfig, clusterDirectory, run };
}

/** Returns the results by subject and check. */
const results = (out: string): Record<string, string> =>
  Object.fromEntries(
    [...out.matchAll(/^(\S+) {2,}(\S+(?: \S+)*) {2,}(ok|warning|failed|unknown) {2,}/gmu)].map(
      ([, subject = '', check = '', result = '']) => [`${subject}: ${check}`, result],
    ),
  );

const healthy = {
  'cluster: Kubernetes': 'ok',
  'cluster: Clock': 'ok',
  'you: Rights of the CPI': 'ok',
  'you: Rights in the cluster': 'ok',
  'you: Rights of a tunnel': 'ok',
  'you: Rights to install': 'ok',
  'bosh: Pod Security': 'ok',
  'bosh: Attachment pods': 'ok',
  'local: Storage class': 'ok',
  'cluster: Default class': 'ok',
  'cluster: Snapshots': 'ok',
  'cluster: Fixed addresses': 'ok',
  'cluster: Networks of a VM': 'ok',
  'nodes: Room on nodes': 'ok',
};

test('a healthy cluster passes without a change, and the kubeconfig of the embedded cluster is found', async (t) => {
  const { cluster, kubeconfig, clusterDirectory, run } = await setting(t);
  const { exitCode, out, errors } = await run();
  assert.equal(exitCode, 0, errors.join());
  assert.deepEqual(results(out), healthy);
  const [line, blank] = out.split('\n');
  assert.match(
    line ?? '',
    /^Cluster https:\/\/127\.0\.0\.1:\d+, by the context '[^']+' of the kubeconfig '.*\/kubeconfig'$/u,
  );
  assert.equal(blank, '');
  assert.deepEqual((await cluster.api.list(pods)).items, []);
  await mkdir(clusterDirectory);
  await writeFile(join(clusterDirectory, 'kubeconfig'), await readFile(kubeconfig), { mode: 0o600 });
  const embedded = await run([]);
  assert.match(embedded.out, /^Embedded cluster https:.* of the kubeconfig '.*\/embedded\/kubeconfig'\n/u);
  assert.match(embedded.out, /^cluster +Fixed addresses +ok +by the embedded cluster$/mu);
  await assert.rejects(run(['--try', '--stemcell', 'none.tgz']), { code: 'NOT_SUPPORTED' });
});

test('a closed namespace, a missing default class, zones and a missing namespace have their remedies', async (t) => {
  const { cluster, kubeconfig, run } = await setting(t);
  const { api } = cluster;
  const labels = { 'pod-security.kubernetes.io/enforce': 'baseline' };
  await api.patch({ resource: namespaces, name: 'bosh' }, { metadata: { labels } });
  const annotations = { [volumeAnnotations.defaultClass]: 'false' };
  await api.patch({ resource: storageClasses, name: 'local' }, { metadata: { annotations } });
  const { exitCode, out } = await run();
  assert.equal(exitCode, 0);
  assert.deepEqual(results(out), {
    ...healthy,
    ...{ 'bosh: Pod Security': 'warning', 'bosh: Attachment pods': 'warning' },
    'cluster: Default class': 'warning',
  });
  assert.match(out, /^bosh +Pod Security .* admits only VMs of the profile baseline: .*violates PodSec/mu);
  assert.match(
    out,
    /^- Pod Security \(bosh\): warning, .*\n  kubectl label namespace bosh --overwrite pod-sec/mu,
  );
  assert.match(out, /^- Default class \(cluster\): warning, .*\n  kubectl annotate storageclass local /mu);

  await api.patch(
    { resource: namespaces, name: 'bosh' },
    { metadata: { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } } },
  );
  for (const name of ['node-1', 'node-2'])
    await api.patch({ resource: nodes, name }, { spec: { unschedulable: true } });
  const closed = await run(['--kubeconfig', kubeconfig, '--disk-namespace', 'elsewhere']);
  assert.equal(closed.exitCode, 1);
  assert.match(closed.out, /^nodes +Room on nodes +failed +none for VMs \(node-1: it is unschedulable; no/mu);
  assert.match(closed.out, /^elsewhere +Attachment pods +warning +the namespace does not exist yet$/mu);
  assert.match(closed.out, /^bosh +Pod Security +failed +admits no VM of any profile: /mu);
  assert.match(closed.out, /^you +Rights for disks +ok /mu);
  const disks = join(root, 'manifests/rbac/disks');
  assert.ok(closed.out.includes(`\n  apply a copy of ${disks} whose files have the namespace 'elsewhere'`));
  const missing = await run(['--kubeconfig', kubeconfig, '--disk-namespace', 'bosh-disks']);
  assert.ok(missing.out.includes(`\n  kubectl apply -k ${disks}\n`), missing.out);
  const restricted = await run();
  assert.match(restricted.out, /^bosh +Pod Security +failed +admits no VM of any profile: /mu);
  assert.deepEqual(restricted.errors, ['2 of 14 checks failed']);
});

test('the one row about an embedded cluster that is stopped names the command that starts it', async (t) => {
  const { kubeconfig, clusterDirectory, run } = await setting(t);
  await mkdir(clusterDirectory);
  const embedded = join(clusterDirectory, 'kubeconfig');
  const text = await readFile(kubeconfig, 'utf8');
  const stopped = text.replace(/https:\/\/127\.0\.0\.1:\d+/u, `https://127.0.0.1:${await closedPort()}`);
  await writeFile(embedded, stopped, { mode: 0o600 });
  for (const args of [[], ['--kubeconfig', embedded]]) {
    const { exitCode, out } = await run(args);
    assert.equal(exitCode, 1);
    assert.match(out, /^cluster +Kubernetes API +failed +the embedded cluster does not run$/mu);
    assert.match(out, /\n  'bosh-kubernetes up' starts it\n$/u);
    assert.doesNotMatch(out, /ECONNREFUSED/u);
  }
});

test('a file of $KUBECONFIG that does not exist is an error, also if there is an embedded cluster', async (t) => {
  const { kubeconfig, clusterDirectory, run } = await setting(t);
  await mkdir(clusterDirectory);
  await writeFile(join(clusterDirectory, 'kubeconfig'), await readFile(kubeconfig), { mode: 0o600 });
  const environment = { KUBECONFIG: `${kubeconfig}-2` };
  await assert.rejects(run([], { environment }), {
    code: 'FILE_NOT_FOUND',
    message:
      /^There is no kubeconfig '.*kubeconfig-2'; name the cluster with --kubeconfig or KUBECONFIG, .* up'$/u,
  });
  await writeFile(environment.KUBECONFIG, '');
  const several = { KUBECONFIG: `${kubeconfig}:${environment.KUBECONFIG}` };
  await assert.rejects(run([], { environment: several }), { code: 'INVALID_ARGUMENT' });
  const named = await run(['--kubeconfig', kubeconfig], { environment: several });
  assert.deepEqual(results(named.out), healthy);
});

test('without any kubeconfig, the error names the ways to choose a cluster', async (t) => {
  const { run } = await setting(t);
  await assert.rejects(run([]), {
    code: 'FILE_NOT_FOUND',
    message: /^There is no kubeconfig '\/nonexistent\/\.kube\/config'; name the cluster with --kubeconfig/u,
  });
});

test('an unknown context and a broken kubeconfig are named with the file', async (t) => {
  const { kubeconfig, run } = await setting(t);
  const { contexts } = parse(await readFile(kubeconfig, 'utf8')) as { contexts: { name: string }[] };
  await assert.rejects(run(['--kubeconfig', kubeconfig, '--context', 'nope']), {
    code: 'INVALID_CONFIG',
    message: `Kubeconfig '${kubeconfig}': there is no context "nope"; name one of its contexts: ${JSON.stringify(contexts[0]?.name)}`,
  });
  await writeFile(kubeconfig, 'clusters: [');
  await assert.rejects(run(), {
    code: 'INVALID_CONFIG',
    message: /^Kubeconfig '.*\/kubeconfig': the text is not YAML, line /,
  });
});

test('--try refuses a copy of the kubeconfig of the embedded cluster, and makes nothing', async (t) => {
  const { cluster, kubeconfig, run } = await setting(t);
  const stemcell = `${kubeconfig}.tgz`;
  await packLightStemcell(light, stemcell);
  await assert.rejects(run(['--kubeconfig', kubeconfig, '--try', '--stemcell', stemcell]), {
    code: 'NOT_SUPPORTED',
    message: /^The embedded cluster runs no containers of images/u,
  });
  assert.deepEqual((await cluster.api.list(secrets, { namespace: 'bosh' })).items, []);
});

test('a user without rights gets rows that name the rights, and no stack', async (t) => {
  const { cluster, kubeconfig, run } = await setting(t);
  await useAccount({ cluster, kubeconfig });
  const { exitCode, out } = await run();
  assert.equal(exitCode, 1);
  const rows = results(out);
  assert.deepEqual(
    Object.entries(rows).flatMap(([row, result]) => (result === 'unknown' ? row : [])),
    [
      ...['bosh: Pod Security', 'bosh: Attachment pods', 'cluster: Storage class', 'cluster: Default class'],
      ...['cluster: Snapshots', 'nodes: Room on nodes'],
    ],
  );
  assert.match(out, /^you +Rights of the CPI +failed +may not create pods in 'bosh', .* and 45 more$/mu);
  assert.match(out, /^bosh +Pod Security +unknown +you may not create pods in 'bosh'$/mu);
  assert.match(
    out,
    /^- Room on nodes \(nodes\): unknown, .*\n  use a kubeconfig with the right to list nodes$/mu,
  );
  assert.doesNotMatch(out, / at .*\.ts:/u);

  const heard = recordOutput();
  const installation = { root } as Installation;
  const read = await orphans.run(['--kubeconfig', kubeconfig], { ...heard.context, installation });
  assert.equal(read, 1);
  assert.match(
    heard.out,
    /^No objects .* were found in what could be read\.\nWhether namespace 'bosh' exists is not known: .*\nVMs and attachments were not/u,
  );
});

test('the rights of another account are unknown if the cluster reviews none', async (t) => {
  const { kubeconfig, run } = await setting(t);
  const account = 'system:serviceaccount:bosh:bosh-cpi';
  const { exitCode, out } = await run(['--kubeconfig', kubeconfig, '--as', account]);
  assert.equal(exitCode, 0);
  const rows = Object.entries(results(out)).filter(([row]) => row.includes('Rights'));
  assert.deepEqual(rows, [
    ['bosh/bosh-cpi: Rights of the CPI', 'unknown'],
    ['bosh/bosh-cpi: Rights in the cluster', 'unknown'],
  ]);
});

test('the remedy for missing rights of an account is the role that grants them', async (t) => {
  const { kubeconfig } = await setting(t);
  const connect = connectWith(() => ({
    review: (_, review) => Promise.resolve({ ...review, status: { allowed: false } }),
  }));
  const remediesFor = async (account: string): Promise<string> => {
    const heard = recordOutput();
    const installation = { root, clusterDirectory: `${kubeconfig}-none` } as Installation;
    const flags = ['--kubeconfig', kubeconfig, '--disk-namespace', 'bosh-disks', '--as'];
    await runDoctor(
      [...flags, `system:serviceaccount:${account}`],
      { ...heard.context, installation },
      connect,
    );
    return heard.out;
  };
  const rbac = join(root, 'manifests/rbac');
  const own = await remediesFor('bosh:bosh-cpi');
  assert.ok(own.includes(`\n  kubectl apply -k ${rbac} (${rbac}/namespaced.yaml)\n`), own);
  assert.ok(own.includes(`\n  kubectl apply -k ${rbac}/disks (${rbac}/disks/disk-namespace.yaml)\n`), own);
  const other = await remediesFor('bosh:other');
  assert.ok(
    other.includes(`\n  have an administrator bind ${rbac}/namespaced.yaml to this account\n`),
    other,
  );
  assert.ok((await remediesFor('east:bosh-cpi')).includes(`\n  apply a copy of ${rbac} whose `));
});

test('an API that cannot be reached, or does not accept the credentials, is one failed row', async (t) => {
  const { kubeconfig, run } = await setting(t);
  const config = parse(await readFile(kubeconfig, 'utf8')) as {
    clusters: { cluster: { server: string } }[];
    users: { user: object }[];
  };
  const server = config.clusters[0]?.cluster.server;
  const write = (change: { readonly server?: string | undefined; readonly user?: object }): Promise<void> => {
    for (const { cluster } of config.clusters) cluster.server = change.server ?? cluster.server;
    for (const each of config.users) each.user = change.user ?? each.user;
    return writeFile(kubeconfig, stringify(config));
  };
  await write({ server: `https://127.0.0.1:${await closedPort()}` });
  let json = '';
  const output = jsonTerminal((part) => (json += part));
  const { exitCode } = await run(['--kubeconfig', kubeconfig], { terminal: output.terminal });
  output.finish(exitCode);
  assert.equal(exitCode, 1);
  const { Tables } = JSON.parse(json) as { Tables: { Rows: Record<string, string>[] }[] };
  const [row, ...more] = Tables[0]?.Rows ?? [];
  assert.deepEqual(more, []);
  assert.deepEqual([row?.['check'], row?.['result']], ['Kubernetes API', 'failed']);
  assert.match(row?.['detail'] ?? '', /ECONNREFUSED/u);
  assert.match(row?.['remedy'] ?? '', /^check the server of the kubeconfig/u);

  await write({ server, user: { token: 'wrong' } });
  const rejected = await run();
  assert.match(rejected.out, /^cluster +Kubernetes API +failed +it does not accept the credentials of/mu);
});

test('flags of another kind of check are refused before any request', async (t) => {
  const { run } = await setting(t);
  for (const [args, message] of [
    [['--as', 'alice'], /--as must be a service account, such as system:serviceaccount:bosh:bosh-cpi/u],
    [['--needs', 'vxlan'], /--needs is for --with/u],
    [['--stemcell', 'x.tgz'], /--stemcell is for --try/u],
    [['--try'], /--stemcell FILE is missing/u],
    [['--try', '--stemcell', 'x', '--disk-size', '1Gi'], /--disk-size must be a number of MiB/u],
    [['--try', '--stemcell', 'x', '--address', 'a.b'], /--address is not an IP address/u],
    [['--with', 'cloud-foundry', '--stemcell', 'x', '--try'], /--try is not for --with/u],
    [
      ['--with', 'cloud-foundry', '--stemcell', 'x', '--kubelet-root-dir', '/x'],
      /--kubelet-root-dir is not for --with/u,
    ],
    [['--namespace', ''], /--namespace is not a valid name of a namespace/u],
  ] as const)
    await assert.rejects(run(args), { code: 'INVALID_ARGUMENT', message });
});
