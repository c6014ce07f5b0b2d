import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mainModulePath } from '../../../src/cli/installation.ts';
import { apiKubeletRoot } from '../../../embedded-cluster/node/node-paths.ts';
import { parseState, type DeploymentState } from '../../../src/deploy/state/deployment-state.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { loadAccess } from '../../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../../src/kubernetes/client/open-transport.ts';
import { persistentVolumeClaims, pods, secrets } from '../../../src/kubernetes/resources.ts';
import { RestApi } from '../../../src/kubernetes/client/rest-api.ts';
import type { Transport } from '../../../src/kubernetes/client/transport.ts';
import { runWell } from '../../support/run.ts';
import { hasExecutable, packCpiVariant, root } from './cpi-variant.ts';

export const namespace = 'bosh';
const kind = 'bosh.cloudfoundry.org/kind';

export interface Outcome {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly environment?: Readonly<Record<string, string>>;
  /** Called with all of stdout so far whenever more of it arrives. */
  readonly onOutput?: (stdout: string, child: ChildProcess) => void;
}

export interface OperatorOptions {
  /** An address of 127.64.0.0/10. Two lines that run at the same time must have different ones. */
  readonly address: string;
  /** Replaces `bin/cpi`. It finds the real one beside itself. */
  readonly cpi?: string;
}

/** The names of the CPI's objects in the cluster. Objects that are being deleted are not counted. */
export interface CloudObjects {
  readonly vms: readonly string[];
  readonly attachments: readonly string[];
  readonly disks: readonly string[];
  readonly secrets: readonly string[];
}

/**
 * An embedded cluster, the example's manifest and the command line in one directory: what an operator has,
 * except for the address. `dist/` must have been built.
 */
export class OperatorEnvironment {
  readonly directory: string;
  readonly address: string;
  readonly home: string;
  readonly manifestPath: string;
  readonly #transports: Transport[] = [];

  private constructor(directory: string, address: string) {
    this.directory = directory;
    this.address = address;
    this.home = join(directory, 'home');
    this.manifestPath = join(directory, 'manifest.yml');
  }

  /** Writes the manifest. Starts nothing. */
  static async prepare({ address, cpi }: OperatorOptions): Promise<OperatorEnvironment> {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-crash-')));
    const line = new OperatorEnvironment(directory, address);
    await mkdir(line.controlDirectory);
    const example = await readFile(join(root, 'examples', 'hello', 'manifest.yml'), 'utf8');
    const own = example
      .replaceAll('file://../../dist/', `file://${root}/dist/`)
      .replaceAll('127.64.0.10', address)
      .replaceAll('127.64.0.', address.replace(/\d+$/, ''));
    await writeFile(line.manifestPath, own);
    if (cpi !== undefined) await line.replaceCpi(cpi);
    return line;
  }

  get url(): string {
    return `http://${this.address}:8080/`;
  }

  get clusterDirectory(): string {
    return join(this.home, 'cluster');
  }

  get kubeconfig(): string {
    return join(this.clusterDirectory, 'kubeconfig');
  }

  get statePath(): string {
    return join(this.directory, 'manifest-state.json');
  }

  get varsStorePath(): string {
    return join(this.directory, 'manifest-creds.yml');
  }

  /**
   * The directory through which the test and the replacement CPI communicate. The CPI gets it as CPI_CONTROL.
   */
  get controlDirectory(): string {
    return join(this.directory, 'control');
  }

  async replaceCpi(script: string): Promise<void> {
    const archive = join(this.directory, 'cpi-release.tgz');
    await rm(join(this.directory, 'cpi-release'), { recursive: true, force: true });
    await packCpiVariant(script, this.directory, archive);
    const node = hasExecutable ? '' : `\n    node_path: ${process.execPath}`;
    await this.edit((text) =>
      text
        .replace(/file:.*bosh-kubernetes-release.tgz/, `file://${archive}`)
        .replace(/\n {4}node_path: .*/, '')
        .replace(/\n {4}kubernetes:/, (key) => `${node}${key}`),
    );
  }

  async edit(change: (text: string) => string): Promise<void> {
    await writeFile(this.manifestPath, change(await readFile(this.manifestPath, 'utf8')));
  }

  /** Runs `bosh-kubernetes WORDS`. Never rejects for an exit code. */
  command(args: readonly string[], options: CommandOptions = {}): Promise<Outcome> {
    const child = spawn(process.execPath, [mainModulePath(root), ...args], {
      cwd: this.directory,
      env: {
        PATH: process.env['PATH'],
        HOME: this.directory,
        BOSH_KUBERNETES_HOME: this.home,
        CPI_CONTROL: this.controlDirectory,
        // Use the tests' compile cache, if there is one: the command then loads in half the time.
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        ...options.environment,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      options.onOutput?.(stdout, child);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (exitCode, signal) => resolve({ exitCode, signal, stdout, stderr }));
    });
  }

  up(options?: CommandOptions): Promise<Outcome> {
    return this.command(['up', this.manifestPath], options);
  }

  createEnv(options?: CommandOptions, ...flags: readonly string[]): Promise<Outcome> {
    return this.command(['create-env', ...this.envArgs(), ...flags], options);
  }

  deleteEnv(): Promise<Outcome> {
    return this.command(['delete-env', ...this.envArgs()]);
  }

  /** Returns the manifest and its flags, which are the same for bosh-kubernetes and the bosh CLI. */
  envArgs(): string[] {
    const directory = `kubelet_root_dir=${apiKubeletRoot}`;
    const variables = ['-v', directory, '--var-file', `kubeconfig=${this.kubeconfig}`];
    return [this.manifestPath, '--vars-store', this.varsStorePath, ...variables];
  }

  kubectl(...args: readonly string[]): Promise<string> {
    return runWell(['kubectl', '--kubeconfig', this.kubeconfig, ...args]);
  }

  /**
   * Connects as the kubeconfig says. The connection is valid until `remove`, also after a restart of the
   * cluster.
   */
  async api(): Promise<KubernetesApi> {
    const transport = await openTransport(await loadAccess(await readFile(this.kubeconfig, 'utf8')));
    this.#transports.push(transport);
    return new RestApi({ transport });
  }

  async objects(): Promise<CloudObjects> {
    const api = await this.api();
    const [podList, claims, secretList] = await Promise.all([
      api.list(pods, { namespace, labelSelector: kind }),
      api.list(persistentVolumeClaims, { namespace, labelSelector: kind }),
      api.list(secrets, { namespace, labelSelector: kind }),
    ]);
    const named = (items: readonly KubernetesObject[], of: string): string[] =>
      items
        .filter(({ metadata }) => metadata.labels?.[kind] === of && metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name)
        .toSorted();
    return {
      vms: named(podList.items, 'vm'),
      attachments: named(podList.items, 'attachment'),
      disks: named(claims.items, 'disk'),
      secrets: named(secretList.items, 'vm'),
    };
  }

  async state(): Promise<DeploymentState> {
    return parseState(await readFile(this.statePath, 'utf8'), this.statePath);
  }

  /**
   * Returns the part of the response of the example's job that is on the persistent disk: the time of
   * its first use. The rest follows the properties.
   */
  async jobResponse(): Promise<string> {
    const response = await fetch(this.url);
    if (response.status !== 200) throw new Error(`${this.url} answered ${response.status}`);
    const text = await response.text();
    const [since] = /kept on a persistent disk since \S+/u.exec(text) ?? [];
    if (since === undefined) throw new Error(`${this.url} answered ${text}`);
    return since;
  }

  /** Removes everything that ran and its data. */
  async remove(): Promise<void> {
    for (const transport of this.#transports) transport.close();
    // The state file of create-env names no cluster. Remove it before `destroy --all`, which deletes this
    // cluster with everything on it.
    await rm(this.statePath, { force: true });
    const { exitCode, stdout, stderr } = await this.command([
      'destroy',
      this.manifestPath,
      '--force',
      '--all',
    ]);
    if (exitCode !== 0) throw new Error(`destroy failed: ${stdout}${stderr}`);
    await rm(this.directory, { recursive: true, force: true });
  }
}
