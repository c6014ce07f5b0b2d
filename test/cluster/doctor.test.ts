import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { kernelParameters } from '../../src/doctor/probe-script.ts';
import { label } from '../../src/cpi/objects/labels.ts';
import { doctorUuid } from '../../src/doctor/trial/trial-call.ts';
import { persistentVolumeClaims, pods, secrets, services } from '../../src/kubernetes/resources.ts';
import { checkout } from '../support/embedded-environment.ts';
import { runWell } from '../support/run.ts';
import { until } from '../support/until.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress } from './support/fixed-address.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

type Row = Readonly<Record<'subject' | 'check' | 'result' | 'detail' | 'remedy', string>>;

describeCluster('doctor', (world) => {
  test(
    'an interrupted run leaves no pod, the next removes those of a killed one; the table has what this machine has',
    { ...withoutNodes, timeout: 300_000 },
    async () => {
      const { archive } = await world().cluster.stemcellFor('privileged');
      const interrupted = start(world(), archive);
      await until('the first pod of the doctor', async () => (await probes(world())).length > 0);
      interrupted.kill('SIGINT');
      const { exitCode, lines } = await resultOf(interrupted);
      assert.equal(exitCode, 1);
      assert.match(lines.join('\n'), /pods were removed: interrupted by SIGINT.*\[INTERRUPTED\]/u);
      assert.deepEqual(await probes(world()), []);

      const killed = start(world(), archive);
      await until('a pod of the doctor again', async () => (await probes(world())).length > 0);
      killed.kill('SIGKILL');
      await once(killed, 'exit');
      const left = await probes(world());
      assert.notDeepEqual(left, []);

      const run = await resultOf(start(world(), archive));
      assert.deepEqual(await probes(world()), []);
      const expected = await factsOfMachine();
      const nodes = world().cluster.nodes.map(({ name }) => name);
      assert.deepEqual([...new Set(run.rows.map(({ subject }) => subject))].toSorted(), nodes.toSorted());
      for (const node of nodes) {
        const found = run.rows.filter(({ subject }) => subject === node);
        assert.deepEqual(
          Object.fromEntries(found.map(({ check, result }) => [check, result])),
          expected.results,
        );
        for (const { check, result, remedy } of found) assert.equal(remedy === '', result === 'ok', check);
        for (const name of kernelParameters) {
          const details = found.find(({ check }) => check === name)?.detail;
          const value = expected.values[name];
          assert.ok(
            details?.includes(value === '' ? 'empty' : `${value}`),
            `${name}: ${details}, not ${value}`,
          );
        }
        assert.match(found.find(({ check }) => check === 'Cgroup version')?.detail ?? '', expected.cgroups);
      }
      assert.equal(run.exitCode, Object.values(expected.results).includes('failed') ? 1 : 0);
      assert.deepEqual(await valuesOf(nodeWide), expected.ofNode, 'the doctor changed the node');
      assert.doesNotMatch(await runWell(['losetup', '--list']), /bosh-kubernetes-doctor/u);
      assert.equal(await runWell(['find', '/sys/fs/cgroup', '-name', 'bosh-kubernetes-doctor']), '');
    },
  );

  test(
    'the rights are those of the user, or of the account of --as',
    { ...withoutNodes, timeout: 60_000 },
    async () => {
      const { namespace } = world();
      const kubectl = (...args: string[]): Promise<string> => world().kubectl(...args);
      await kubectl('create', 'serviceaccount', 'doctor');
      await kubectl(
        ...['create', 'rolebinding', 'doctor', '--clusterrole', 'cluster-admin'],
        ...['--serviceaccount', `${namespace}:doctor`],
      );
      const [own, bare, all] = await Promise.all(
        [[], ['default'], ['doctor']].map(([name]) =>
          resultOf(
            startDoctor(
              world(),
              ...(name === undefined ? [] : ['--as', `system:serviceaccount:${namespace}:${name}`]),
            ),
          ),
        ),
      );
      const rights = (run: Result | undefined): unknown =>
        Object.fromEntries(
          (run?.rows ?? [])
            .filter(({ check }) => check.startsWith('Rights'))
            .map(({ check, result }) => [check, result]),
        );
      const cpi = { 'Rights of the CPI': 'ok', 'Rights in the cluster': 'ok' };
      assert.deepEqual(rights(own), { ...cpi, 'Rights of a tunnel': 'ok', 'Rights to install': 'ok' });
      assert.deepEqual(rights(bare), { 'Rights of the CPI': 'failed', 'Rights in the cluster': 'warning' });
      assert.deepEqual(rights(all), { ...cpi, 'Rights in the cluster': 'warning' });
      assert.deepEqual([own?.exitCode, bare?.exitCode, all?.exitCode], [0, 1, 0]);
      const others = own?.rows.filter(({ check }) => !check.startsWith('Rights')) ?? [];
      const unexpected = others.filter(({ result }) => result !== 'ok').map(({ check }) => check);
      // the nodes are in zones, and have the plugin static-ip without its DaemonSet
      assert.deepEqual([...new Set(unexpected)].toSorted(), ['Fixed addresses', 'Storage class']);
      const classes = others.filter(({ check }) => check === 'Storage class');
      const atNode = classes.filter(({ detail }) => detail.includes('binds at the node of the VM'));
      assert.ok(atNode.some(({ subject, result }) => subject === 'loop-wait' && result === 'ok'));
    },
  );

  test(
    'a trial tries what the CPI does; a killed and an interrupted one leave nothing after the next',
    { ...withoutNodes, timeout: 300_000 },
    async () => {
      const { archive } = await world().cluster.stemcellFor('privileged');
      const trial = ['--try', '--stemcell', archive, '--disk-size', '32', '--kubelet-root-dir'];
      const run = (...more: string[]): ChildProcess =>
        startDoctor(world(), ...trial, world().cluster.kubeletRootDirectory, ...more);
      const killed = run();
      await until('the attachment pod of a trial', async () => (await attachments(world())).length > 0);
      killed.kill('SIGKILL');
      await once(killed, 'exit');
      const [left] = await attachments(world());

      const interrupted = run();
      await until('the attachment pod of the next trial', async () =>
        (await attachments(world())).some((name) => name !== left),
      );
      interrupted.kill('SIGINT');
      const stopped = await resultOf(interrupted);
      assert.equal(stopped.exitCode, 1);
      assert.match(stopped.lines.join('\n'), /What the trial made was removed/u);
      assert.deepEqual(await trialObjects(world()), []);

      const { exitCode, rows } = await resultOf(run('--address', fixedAddress(world(), 'doctor', 0)));
      assert.equal(exitCode, 0, JSON.stringify(rows));
      const tried = rows.slice(rows.findIndex(({ check }) => check === 'VM'));
      assert.deepEqual(
        tried.map(({ check, result }) => [check, result]),
        ['VM', 'Node port', 'Disk', 'Fixed address'].map((check) => [check, 'ok']),
        JSON.stringify(tried),
      );
      assert.deepEqual(await trialObjects(world()), []);
    },
  );
});

/** Examines the nodes for Cloud Foundry. */
const start = (world: ClusterWorld, stemcell: string): ChildProcess =>
  startDoctor(world, '--with', 'cloud-foundry', '--stemcell', stemcell);

function startDoctor({ namespace }: ClusterWorld, ...args: readonly string[]): ChildProcess {
  const main = join(checkout, 'src', 'cli', 'main.ts');
  const { kubeconfig } = testCluster().layout;
  const flags = ['--namespace', namespace, '--json', '--kubeconfig', kubeconfig];
  return spawn(process.execPath, [main, 'doctor', ...args, ...flags], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

interface Result {
  readonly exitCode: number | null;
  readonly rows: readonly Row[];
  readonly lines: readonly string[];
}

async function resultOf(child: ChildProcess): Promise<Result> {
  const { stdout } = child;
  assert.ok(stdout);
  const [output] = await Promise.all([text(stdout), once(child, 'exit')]);
  const { Tables, Lines } = JSON.parse(output) as {
    readonly Tables: readonly { readonly Rows: readonly Row[] }[] | null;
    readonly Lines: readonly string[];
  };
  return { exitCode: child.exitCode, rows: Tables?.[0]?.Rows ?? [], lines: Lines };
}

async function probes({ api, namespace }: ClusterWorld): Promise<string[]> {
  const { items } = await api.list(pods, { namespace });
  return items.map(({ metadata }) => metadata.name);
}

const attachments = async (world: ClusterWorld): Promise<readonly string[]> =>
  (await probes(world)).filter((name) => name.startsWith('attach-'));

/** Returns the names of the objects that trials made. */
async function trialObjects({ api, namespace }: ClusterWorld): Promise<readonly string[]> {
  const labelSelector = `${label.directorId}=${doctorUuid}`;
  const all = await Promise.all(
    [pods, secrets, services, persistentVolumeClaims].map((each) =>
      api.list(each, { namespace, labelSelector }),
    ),
  );
  return all.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
}

const nodeWide = kernelParameters.filter((name) => /^(?:vm|fs|kernel\.(?:dmesg|core))/u.test(name));

interface Facts {
  /** The expected results by check. */
  readonly results: Readonly<Record<string, string>>;
  /** The values of the kernel parameters in new namespaces. */
  readonly values: Readonly<Record<string, string>>;
  /** The values that all namespaces share. */
  readonly ofNode: Readonly<Record<string, string>>;
  readonly cgroups: RegExp;
}

/** Reads from the kernel's configuration, and not by trying it, what the table should have. */
async function factsOfMachine(): Promise<Facts> {
  const configuration = kernelConfiguration();
  const has = (name: string): boolean => new RegExp(`^CONFIG_${name}=[ym]$`, 'mu').test(configuration);
  const orWarning = (name: string): string => (has(name) ? 'ok' : 'warning');
  const orFailed = (...names: readonly string[]): string => (names.every(has) ? 'ok' : 'failed');
  const armor = '/sys/module/apparmor/parameters/enabled';
  const hasArmor = existsSync(armor) && readFileSync(armor, 'utf8').startsWith('Y');
  return {
    results: {
      'VM of profile privileged': 'ok',
      'Programs of the stemcell': 'ok',
      'Loop devices': orFailed('BLK_DEV_LOOP'),
      'XFS with project quotas': orFailed('XFS_FS', 'XFS_QUOTA'),
      'Shared mounts': 'ok',
      Overlay: orFailed('OVERLAY_FS'),
      'Nested container with its own cgroup': orFailed('USER_NS', 'PID_NS', 'MEMCG', 'CGROUP_PIDS'),
      'Cgroup version': 'ok',
      AppArmor: hasArmor ? 'ok' : 'warning',
      'Link dummy': orWarning('DUMMY'),
      'Link vxlan': orWarning('VXLAN'),
      'Link veth': orFailed('VETH'),
      'Link ifb': orWarning('IFB'),
      transparent_hugepage: orWarning('TRANSPARENT_HUGEPAGE'),
      FUSE: orWarning('FUSE_FS'),
      NFS: orWarning('NFS_V4'),
      CIFS: orWarning('CIFS'),
      ...Object.fromEntries(kernelParameters.map((name) => [name, 'ok'])),
      // only the first network namespace of a machine may write it
      'net.netfilter.nf_conntrack_max': 'warning',
    },
    values: await valuesOf(kernelParameters),
    ofNode: await valuesOf(nodeWide),
    cgroups: existsSync('/sys/fs/cgroup/memory') ? /^v1$/u : /^v2 \(.*memory.*\)$/u,
  };
}

function kernelConfiguration(): string {
  if (existsSync('/proc/config.gz')) return gunzipSync(readFileSync('/proc/config.gz')).toString();
  return readFileSync(`/boot/config-${readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim()}`, 'utf8');
}

async function valuesOf(names: readonly string[]): Promise<Record<string, string>> {
  const read = 'for file; do cat "$file" | tr "\\t" " "; done';
  const files = names.map((name) => `/proc/sys/${name.replaceAll('.', '/')}`);
  const namespaces = ['--net', '--ipc', '--pid', '--fork', '--mount-proc'];
  const output = await runWell(['unshare', ...namespaces, 'sh', '-c', read, 'sh', ...files]);
  const lines = output.split('\n');
  return Object.fromEntries(names.map((name, index) => [name, lines[index] ?? '']));
}
