import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { checkout } from '../../support/embedded-line.ts';

/** The command of `bosh-kubernetes` or of the bosh CLI. Both have create-env and delete-env. */
export type Deployer = readonly [program: string, ...words: string[]];

export const ownDeployer: Deployer = [process.execPath, join(checkout, 'bin', 'bosh-kubernetes.mjs')];

export interface HelloPlan {
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

export interface Settings {
  readonly diskSize: number;
  readonly audience: string;
}

export interface Outcome {
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
   * Runs another command of `bosh-kubernetes` on the deployment. `words` follow the manifest and its inputs.
   */
  command(name: string, settings: Settings, ...words: readonly string[]): Promise<Outcome> {
    return this.#run(name, settings, words);
  }

  /** Runs the command inside a tunnel of bosh-kubernetes. */
  tunnelled(name: string, settings: Settings, ...words: readonly string[]): Promise<Outcome> {
    const { namespace, address } = this.plan;
    const tunnel = ['tunnel', '--kubeconfig', this.file('kubeconfig'), '--namespace', namespace];
    const range = ['--network', `${address.replace(/\d+$/u, '0')}/24`, '--'];
    return this.#run(name, settings, words, [...ownDeployer, ...tunnel, ...range, ...ownDeployer]);
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
    const [program = '', ...words] = deployer;
    const child = spawn(
      program,
      [
        ...words,
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
