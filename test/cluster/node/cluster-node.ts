import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { linkImageStore } from '../image/image-store.ts';
import { importImage, busybox, type ImageArchive } from '../image/images.ts';
import type { ClusterPaths } from '../cluster-paths.ts';
import { awaitService, Machine, type Service } from '../machine/machine.ts';
import { writeJson, writeWhole } from '../machine/write-whole.ts';
import { network, type NodePlan } from '../network.ts';
import { nodeDriverService } from '../volumes/services.ts';
import { containerdConfiguration, kubeletConfiguration, containerdSocket } from './configuration.ts';
import { prepareNetwork } from './pod-network.ts';
import { containerdService, kubeletService, kubeProxyService } from './services.ts';
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';

const prepareScript = fileURLToPath(new URL('prepare.sh', import.meta.url));

/**
 * A node of the test cluster: a machine with containerd, kubelet and kube-proxy, and the operations of tests
 * on a node.
 */
export class ClusterNode {
  readonly name: string;
  readonly plan: NodePlan;
  readonly machine: Machine;
  /** The name of its control groups, in every hierarchy. */
  readonly cgroup: string;
  readonly #programs: string;
  readonly #layout: ClusterPaths;

  constructor(programs: string, layout: ClusterPaths, plan: NodePlan) {
    this.name = plan.name;
    this.plan = plan;
    this.machine = new Machine(plan.name, join(layout.directory, 'nodes', plan.name));
    this.cgroup = `bosh-kubernetes-${layout.name}-${plan.name}`;
    this.#programs = programs;
    this.#layout = layout;
  }

  /**
   * Starts the machine, connects it to the control plane's network and starts containerd, which begins with
   * the images of `store`.
   */
  async start(controlPlane: Machine, store?: string): Promise<void> {
    const { address } = this.plan;
    if ((await this.machine.isUp()) && !(await this.#isPrepared())) await this.machine.kill();
    if (await this.machine.start()) {
      await this.#prepare();
      if (store !== undefined) await linkImageStore(store, join(this.machine.directory, 'containerd'));
      const paths = [this.machine.directory, this.#layout.podAddresses, this.cgroup];
      const addressArgs = [`${address}/${network.prefixLength}`, network.controlPlane];
      await this.machine.runWell(['sh', prepareScript, ...paths, ...addressArgs]);
    }
    await this.#join(controlPlane);
    await this.#serveContainerd();
  }

  /** Starts kubelet, kube-proxy and the volume drivers. Does not wait until the node is Ready. */
  async serve(): Promise<void> {
    await this.#serveKubelet();
    await this.machine.serve(kubeProxyService(this.#programs, this.#layout, this.plan));
    await this.machine.serve(nodeDriverService(this.#layout, this.plan));
  }

  async import(archive: ImageArchive): Promise<void> {
    await importImage(this.machine, archive);
  }

  /** Installs the CNI plugins and their configuration. A running node uses them from its next pod on. */
  installPlugins(): Promise<void> {
    return prepareNetwork(join(this.machine.directory, 'cni'), this.plan, this.#layout.staticIp);
  }

  /** Runs containerd's client in the namespace of Kubernetes' containers. */
  ctr(args: readonly string[]): ReturnType<Machine['run']> {
    return this.machine.run(['ctr', '--namespace', 'k8s.io', ...args]);
  }

  async stopKubelet(): Promise<void> {
    await this.machine.endService(this.#kubelet());
  }

  /** Kills the kubelet with SIGKILL and starts a new one. */
  async restartKubelet(): Promise<void> {
    await this.machine.endService({ ...this.#kubelet(), graceMs: 0 });
    await this.#serveKubelet();
  }

  async restartContainerd(): Promise<void> {
    await this.machine.endService({ ...this.#containerd(), graceMs: 0 });
    await this.#serveContainerd();
  }

  /**
   * Restarts the machine as after a power loss: no process and no mount is left, and pods start again from
   * what is on the disk.
   */
  async restart(controlPlane: Machine): Promise<void> {
    await this.machine.kill();
    await this.start(controlPlane);
    await this.serve();
  }

  async #serveContainerd(): Promise<void> {
    await this.machine.serve(this.#containerd());
    await awaitService(this.machine, 'containerd', () => runtimeAnswers(this.machine));
  }

  async #serveKubelet(): Promise<void> {
    const health = [busybox, 'wget', '-q', '-O', '-', 'http://127.0.0.1:10248/healthz'];
    await this.machine.serve(this.#kubelet());
    await awaitService(this.machine, 'kubelet', async () => (await this.machine.run(health)).stdout === 'ok');
  }

  async #prepare(): Promise<void> {
    const { directory } = this.machine;
    await mkdir(this.#layout.podAddresses, { recursive: true, mode: 0o700 });
    await this.installPlugins();
    await writeWhole(join(directory, 'containerd.toml'), containerdConfiguration());
    const kubelet = kubeletConfiguration(this.#layout, this.plan, this.cgroup);
    await writeJson(join(directory, 'kubelet.yaml'), kubelet);
  }

  async #isPrepared(): Promise<boolean> {
    return (await this.machine.run(['test', '-e', '/run/prepared'])).exitCode === 0;
  }

  /** Connects the two bridges. The connection ends with either machine. */
  async #join(controlPlane: Machine): Promise<void> {
    if ((await this.machine.run(['ip', 'link', 'show', 'dev', 'uplink'])).exitCode !== 0) {
      const pid = String(await this.machine.pid());
      const end = ['name', this.name, 'type', 'veth', 'peer', 'name', 'uplink', 'netns', pid];
      await controlPlane.runInNetwork(['ip', 'link', 'add', ...end]);
    }
    await controlPlane.runWell(['ip', 'link', 'set', 'dev', this.name, 'master', 'nodes', 'up']);
    await this.machine.runWell(['ip', 'link', 'set', 'dev', 'uplink', 'master', 'br0', 'up']);
  }

  #containerd(): Service {
    return containerdService(this.machine.directory);
  }

  #kubelet(): Service {
    return kubeletService(this.#programs, this.#layout, this.plan, this.machine.directory);
  }
}

/**
 * The kubelet calls this method of a runtime at its start and exits if it fails (cri-api,
 * runtime/v1/api.proto: Version).
 */
const versionMethod = '/runtime.v1.RuntimeService/Version';
const deadlineMs = 5000;
const notYet: readonly status[] = [
  status.UNAVAILABLE,
  status.UNKNOWN,
  status.UNIMPLEMENTED,
  status.DEADLINE_EXCEEDED,
];

/**
 * Returns true if a machine's containerd serves kubelets. It accepts other calls earlier: until it has found
 * its containers it responds "server is not initialized yet" to kubelets.
 */
async function runtimeAnswers(machine: Machine): Promise<boolean> {
  const socket = `/proc/${await machine.pid()}/root${containerdSocket}`;
  const client = new Client(`unix://${socket}`, credentials.createInsecure());
  try {
    const error = await askVersion(client);
    if (error !== null && !notYet.includes(error.code)) throw error;
    return error === null;
  } finally {
    client.close();
  }
}

/** Sends an empty request, whose fields have their defaults. Of the response only the error is used. */
function askVersion(client: Client): Promise<ServiceError | null> {
  const request = Buffer.alloc(0);
  const asItIs = (message: Buffer): Buffer => message;
  const deadline = new Date(Date.now() + deadlineMs);
  return new Promise((resolve) => {
    client.makeUnaryRequest(versionMethod, asItIs, asItIs, request, { deadline }, resolve);
  });
}
