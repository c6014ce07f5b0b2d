import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { checkout } from '../../support/embedded-environment.ts';
import { type ObjectKind, label } from '../../../src/cpi/objects/labels.ts';
import type { SecurityProfile } from '../../../src/cpi/config/profile.ts';
import type { Resource } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { persistentVolumeClaims, pods } from '../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../src/kubernetes/types/storage.ts';
import { leftObjects } from '../../support/left-objects.ts';
import { until } from '../../support/until.ts';
import type { UpstreamAgent } from '../../support/upstream-programs.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { fixedAddress } from './fixed-address.ts';

/** The command of `bosh-kubernetes` or of the bosh CLI. Both have create-env and delete-env. */
export type Deployer = readonly [program: string, ...args: string[]];

export const ownDeployer: Deployer = [process.execPath, join(checkout, 'bin', 'bosh-kubernetes.mjs')];

interface HelloPlan {
  readonly address: string;
  readonly namespace: string;
  readonly stemcellArchive: string;
  readonly kubeconfig: string;
  readonly kubeletRootDirectory: string;
  readonly profile: string;
  /** The name of the VM's node. The default is any node. */
  readonly node?: string;
  /** `kubernetes.attach`. */
  readonly attach: string;
  readonly deployer: Deployer;
  /** The disk's cloud_properties. */
  readonly diskProperties: Readonly<Record<string, unknown>>;
}

interface Settings {
  readonly diskSize: number;
  readonly audience: string;
}

interface Outcome {
  readonly exitCode: number | null;
  readonly output: string;
}

/** examples/hello on a real cluster: the unchanged manifest, with an ops file for the differences. */
export class HelloDeployment {
  readonly plan: HelloPlan;
  readonly #directory: string;

  private constructor(plan: HelloPlan, directory: string) {
    this.plan = plan;
    this.#directory = directory;
  }

  static async open(plan: HelloPlan): Promise<HelloDeployment> {
    const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-hello-'));
    await writeFile(join(directory, 'kubeconfig'), plan.kubeconfig, { mode: 0o600 });
    return new HelloDeployment(plan, directory);
  }

  async createEnv(settings: Settings, ...flags: readonly string[]): Promise<string> {
    const { exitCode, output } = await this.#run('create-env', settings, flags);
    assert.equal(exitCode, 0, output);
    return output;
  }

  async deleteEnv(settings: Settings): Promise<string> {
    const { exitCode, output } = await this.#run('delete-env', settings, []);
    assert.equal(exitCode, 0, output);
    return output;
  }

  /**
   * Runs another command of `bosh-kubernetes` on the deployment. `args` follow the manifest and its inputs.
   */
  command(name: string, settings: Settings, ...args: readonly string[]): Promise<Outcome> {
    return this.#run(name, settings, args);
  }

  /** Runs the command inside a tunnel of bosh-kubernetes. */
  tunnelled(name: string, settings: Settings, ...args: readonly string[]): Promise<Outcome> {
    const { namespace, address } = this.plan;
    const tunnel = ['tunnel', '--kubeconfig', this.file('kubeconfig'), '--namespace', namespace];
    const range = ['--network', `${address.replace(/\d+$/u, '0')}/24`, '--'];
    return this.#run(name, settings, args, [...ownDeployer, ...tunnel, ...range, ...ownDeployer]);
  }

  /** Returns the path of a file in its directory, in which commands run. */
  file(name: string): string {
    return join(this.#directory, name);
  }

  /**
   * Returns the job's response: the name in the greeting, and the time since when its disk has had content.
   */
  async greeting(): Promise<string> {
    const response = await fetch(`http://${this.plan.address}:8080/`);
    assert.equal(response.status, 200);
    return response.text();
  }

  async close(): Promise<void> {
    await rm(this.#directory, { recursive: true });
  }

  async #run(
    command: string,
    settings: Settings,
    flags: readonly string[],
    deployer: readonly string[] = this.plan.deployer,
  ): Promise<Outcome> {
    const file = (name: string): string => this.file(name);
    await writeFile(file('ops.yml'), stringify(operations(this.plan, settings)));
    const [program = '', ...args] = deployer;
    const child = spawn(
      program,
      [
        ...args,
        command,
        join(checkout, 'examples', 'hello', 'manifest.yml'),
        ...['--state', file('state.json'), '--vars-store', file('vars.yml'), '-o', file('ops.yml')],
        ...['--var-file', `kubeconfig=${file('kubeconfig')}`],
        ...['-v', `kubelet_root_dir=${this.plan.kubeletRootDirectory}`],
        ...flags,
      ],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        cwd: this.#directory,
        env: { PATH: process.env['PATH'] ?? '', HOME: this.#directory, LANG: 'C.UTF-8', TMPDIR: tmpdir() },
      },
    );
    const ended = new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    const [exitCode, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
    return { exitCode, output: `${stdout}${stderr}` };
  }
}

function operations(plan: HelloPlan, settings: Settings): unknown[] {
  const { address, profile, node } = plan;
  const replace = (path: string, value: unknown): unknown => ({ type: 'replace', path, value });
  const gateway = address.replace(/\d+$/u, '1');
  return [
    replace(
      '/releases/name=bosh-kubernetes/url',
      `file://${join(checkout, 'dist/bosh-kubernetes-release.tgz')}`,
    ),
    replace('/releases/name=hello/url', `file://${join(checkout, 'dist/hello-release.tgz')}`),
    replace('/resource_pools/name=vms/stemcell/url', `file://${plan.stemcellArchive}`),
    replace('/resource_pools/name=vms/cloud_properties', {
      profile,
      ...(node !== undefined && { node_selector: { 'kubernetes.io/hostname': node } }),
    }),
    replace('/disk_pools/name=disks', {
      ...{ name: 'disks', disk_size: settings.diskSize, cloud_properties: plan.diskProperties },
    }),
    replace('/networks/name=default/subnets', [
      { range: `${gateway.replace(/\d+$/u, '0')}/24`, gateway, dns: [], cloud_properties: {} },
    ]),
    replace('/instance_groups/name=hello/networks/name=default/static_ips', [address]),
    replace('/instance_groups/name=hello/properties/hello/audience', settings.audience),
    replace('/tags/url', `http://${address}:8080/`),
    replace('/cloud_provider/mbus', `https://mbus:((mbus_password))@${address}:6868`),
    replace('/cloud_provider/properties/kubernetes/namespace', plan.namespace),
    replace('/cloud_provider/properties/kubernetes/attach?', plan.attach),
    replace('/variables/name=mbus_tls/options', {
      ...{ ca: 'mbus_ca', common_name: address, alternative_names: [address] },
    }),
  ];
}

interface DeployedHello {
  /** The number of its fixed address. */
  readonly number: number;
  readonly profile: SecurityProfile;
  /** `kubernetes.attach`. */
  readonly attach: string;
  readonly deployer: Deployer;
  /** The default is our agent. */
  readonly upstream?: UpstreamAgent | undefined;
  readonly diskClass?: DiskClass;
}

/**
 * Runs create-env of examples/hello, without a change, with a larger disk and with --recreate, and
 * delete-env. The disk must keep its content.
 */
export async function survivesDeploys(world: ClusterWorld, plan: DeployedHello): Promise<void> {
  const { cluster, namespace } = world;
  const { number, profile, attach, deployer, upstream, diskClass = 'loop' } = plan;
  const deployment = await HelloDeployment.open({
    ...{ address: fixedAddress(world, 'createEnv', number) },
    ...{ namespace, profile, attach, deployer },
    stemcellArchive: (await cluster.stemcellFor(profile, upstream)).archive,
    kubeconfig: cluster.kubeconfig,
    diskProperties: world.diskProperties(diskClass),
    kubeletRootDirectory: cluster.kubeletRootDirectory,
  });
  try {
    await deployAgain(world, deployment, plan);
  } finally {
    await deployment.close();
  }
}

async function deployAgain(
  world: ClusterWorld,
  deployment: HelloDeployment,
  { upstream }: DeployedHello,
): Promise<void> {
  const { namespace, api } = world;
  const settings = { diskSize: 64, audience: 'operators' };
  await deployment.createEnv(settings);
  const since = sinceOf(await deployment.greeting());
  const before = await deployedNow(world);
  assert.equal(before.size, '64Mi');
  // This must also work if the agent has mounted something over /var/log since then.
  await world.untilInVm(before.vm, 'logger --tag canary spoke && grep -q "canary: spoke" /var/log/syslog');

  if (upstream !== undefined) await speaksToSyslog(world, before.vm);

  await deployment.createEnv(settings);
  assert.deepEqual(await deployedNow(world), before, 'without a change nothing is touched');

  const larger = { ...settings, diskSize: 128 };
  await deployment.createEnv(larger);
  assert.equal(sinceOf(await deployment.greeting()), since, 'the disk has lost its content');
  const grown = await deployedNow(world);
  assert.equal(grown.size, '128Mi');
  assert.notEqual(grown.disk, before.disk, 'the content moves to a disk of its own');
  assert.notEqual(grown.pod, before.pod, 'create-env has no update in place');

  await deployment.createEnv(larger, '--recreate');
  assert.equal(sinceOf(await deployment.greeting()), since, 'the disk has lost its content');
  const { pod, vm, ...kept } = await deployedNow(world);
  assert.notEqual(pod, grown.pod);
  assert.notEqual(vm, grown.vm);
  assert.deepEqual({ ...kept, pod: grown.pod, vm: grown.vm }, grown);

  await deployment.deleteEnv(larger);
  await until('the objects to go', async () => (await leftObjects(api, namespace, label.kind)).length === 0);
}

interface Deployed {
  /** The uid of the VM's pod, and the VM's cid. */
  readonly pod: string;
  readonly vm: string;
  /** The disk's cid and its claim's uid. */
  readonly disk: string;
  readonly claim: string;
  /** The size of the volume. */
  readonly size: string;
}

/** Returns the VM and the disk of the namespace. Fails if there is more than one of them. */
async function deployedNow({ api, namespace }: ClusterWorld): Promise<Deployed> {
  const only = async <T extends KubernetesObject>(resource: Resource, kind: ObjectKind): Promise<T> => {
    const { items } = await api.list<T>(resource, { namespace, labelSelector: `${label.kind}=${kind}` });
    const [first] = items;
    const names = items.map(({ metadata }) => metadata.name);
    assert.ok(first !== undefined && names.length === 1, `of kind ${kind} there are: ${names.join(', ')}`);
    return first;
  };
  const pod = await only<KubernetesObject>(pods, 'vm');
  const { metadata, status } = await only<PersistentVolumeClaim>(persistentVolumeClaims, 'disk');
  return {
    pod: pod.metadata.uid ?? '',
    vm: pod.metadata.name,
    disk: metadata.name,
    claim: metadata.uid ?? '',
    size: status?.capacity?.['storage'] ?? '',
  };
}

/**
 * The upstream agent logs an audit line for each request to /dev/log. It starts concurrently with rsyslogd:
 * if the agent starts first, it reports this, retries, and buffers its lines until then (bosh-agent:
 * platform/delayed_audit_logger_unix.go).
 */
async function speaksToSyslog(world: ClusterWorld, vm: string): Promise<void> {
  await world.untilInVm(vm, 'grep -q CEF:0 /var/log/syslog');
  const log = await world.kubectl('logs', vm);
  const begun = log.lastIndexOf('Starting logging to syslog');
  assert.notEqual(begun, -1, 'this is the log of an upstream agent, which has found who listens at /dev/log');
  assert.doesNotMatch(log.slice(begun), /syslog delivery error/iu);
}

function sinceOf(greeting: string): string {
  const since = /kept on a persistent disk since (\S+)\./u.exec(greeting)?.[1];
  assert.ok(since !== undefined, greeting);
  return since;
}
