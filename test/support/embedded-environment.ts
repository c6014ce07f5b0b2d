import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtCluster } from '../../embedded-cluster/daemon/cluster-state.ts';
import { removeClusterDirectory } from '../../embedded-cluster/daemon/remove-cluster-directory.ts';
import { startDaemon, type DaemonInfo } from '../../embedded-cluster/daemon/start-daemon.ts';
import { stopDaemon } from '../../embedded-cluster/daemon/stop-daemon.ts';
import type { TestAgent } from '../../src/cpi/testing/agents.ts';
import type { Access } from '../../src/kubernetes/access/access.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openApi, type RestApi } from '../../src/kubernetes/client/rest-api.ts';
import { execInPod, type ExecResult } from '../../src/kubernetes/client/exec.ts';
import { CpiProcess, type CpiOutcome } from './cpi-process.ts';
import { childrenOf, killHard, parentOf, processesOf } from './machine.ts';

export const checkout = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const namespace = 'bosh';
export const mbusPassword = 'mbus-password-of-the-test';

/** The target of a kill -9 of the cluster. */
export type KillTarget = 'the node' | 'the first process' | 'unshare' | 'everything';

/**
 * The real components in a separate directory: the daemon with its node and agents, and the CPI's executable
 * from `dist`, one process per call. Needs a build (npm run scripts ensure that).
 */
export class EmbeddedEnvironment {
  /**
   * Contains the cluster's directory (and an agent of the test). Destroying the cluster must keep everything
   * else in it.
   */
  readonly directory: string;
  readonly clusterDirectory: string;
  readonly #runtimeDirectory: string;
  readonly #config: string;
  readonly #mbus: string;
  readonly #cpi: CpiProcess;
  #access: Access | undefined;
  #api: RestApi | undefined;

  private constructor(
    directory: string,
    program: string,
    { runtime, mbus }: { readonly runtime: string; readonly mbus: string },
  ) {
    this.directory = directory;
    this.#runtimeDirectory = runtime;
    this.#mbus = mbus;
    this.clusterDirectory = join(directory, 'cluster');
    this.#config = join(directory, 'cpi.json');
    this.#cpi = new CpiProcess(program, this.#config);
  }

  /**
   * Starts a new cluster. `cpi`: the executable to call instead of dist/cpi/cpi; `nodes`: additional nodes,
   * each as `NAME=ZONE`; `agent`: the agent of the VMs instead of ours; `mbus`: the URL of their bus.
   */
  static async start({
    cpi = join(checkout, 'dist', 'cpi', 'cpi'),
    nodes = [],
    agent,
    mbus = `https://mbus:${mbusPassword}@0.0.0.0:6868`,
  }: {
    cpi?: string;
    nodes?: readonly string[];
    agent?: TestAgent;
    mbus?: string;
  } = {}): Promise<EmbeddedEnvironment> {
    const directory = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-line-')));
    const own = join(directory, 'runtime');
    const line = new EmbeddedEnvironment(directory, cpi, {
      runtime: agent === undefined ? join(checkout, 'dist', 'runtime') : own,
      mbus,
    });
    if (agent !== undefined) {
      await mkdir(own);
      await agent(own);
    }
    await mkdir(line.clusterDirectory, { mode: 0o700 });
    await line.restart(nodes);
    return line;
  }

  /** Starts the daemon again, or finds it running. The kubeconfig stays unchanged. */
  async restart(nodes: readonly string[] = []): Promise<DaemonInfo> {
    const info = await startDaemon({
      directory: this.clusterDirectory,
      runtimeDirectory: this.#runtimeDirectory,
      nodeBinary: process.execPath,
      main: builtCluster(checkout),
      nodes,
    });
    const kubeconfig = await readFile(info.kubeconfig, 'utf8');
    this.#access = await loadAccess(kubeconfig);
    this.#api?.close();
    this.#api = undefined;
    await writeFile(this.#config, this.#cpiConfig(kubeconfig), { mode: 0o600 });
    return info;
  }

  async stop(): Promise<void> {
    this.#api?.close();
    this.#api = undefined;
    await stopDaemon(this.clusterDirectory);
  }

  /** Stops the cluster and removes only its directory. */
  async destroy(): Promise<void> {
    await this.stop();
    await removeClusterDirectory(this.clusterDirectory);
  }

  /** Removes the files that a test keeps beside the cluster; called after `destroy`. */
  async remove(): Promise<void> {
    await rm(this.directory, { recursive: true });
  }

  /** Sends SIGKILL, without waiting for any process to end. */
  async kill(victim: KillTarget): Promise<void> {
    const { process: first } = await this.restart();
    switch (victim) {
      case 'the node':
        for (const pid of await childrenOf(first.pid)) killHard(pid);
        return;
      case 'the first process':
        killHard(first.pid);
        return;
      case 'unshare':
        killHard(await parentOf(first.pid));
        return;
      case 'everything':
        for (const { pid } of await processesOf(this.directory)) killHard(pid);
    }
  }

  /** Makes one call of the CPI's executable and returns the response unchanged. */
  cpi(method: string, ...args: readonly unknown[]): Promise<CpiOutcome> {
    return this.#cpi.respond(method, ...args);
  }

  /** Makes one call that must succeed, and returns its result. */
  call(method: string, ...args: readonly unknown[]): Promise<unknown> {
    return this.#cpi.call(method, ...args);
  }

  /** Runs a shell command in a pod; a non-zero exit code is a result. */
  exec(pod: string, script: string, container = 'bosh'): Promise<ExecResult> {
    const command = ['/bin/sh', '-c', script];
    return execInPod(this.access, { namespace, pod, container, command, deadlineMs: 30_000 });
  }

  get access(): Access {
    if (this.#access === undefined) throw new Error('the cluster was not started');
    return this.#access;
  }

  async api(): Promise<RestApi> {
    return (this.#api ??= await openApi(this.access));
  }

  get kubeconfig(): string {
    return join(this.clusterDirectory, 'kubeconfig');
  }

  #cpiConfig(kubeconfig: string): string {
    return JSON.stringify({
      kubernetes: { kubeconfig, namespace, kubelet_root_dir: join(this.clusterDirectory, 'kubelet') },
      agent: { mbus: this.#mbus },
      deadlines: {
        release: 2,
        create_vm: 240,
        attach_disk: 30,
        detach_disk: 60,
        delete_vm: 240,
        delete_disk: 30,
      },
    });
  }
}
