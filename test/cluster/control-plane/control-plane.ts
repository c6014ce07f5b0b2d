import { join } from 'node:path';
import type { ClusterPaths } from '../cluster-paths.ts';
import { awaitService, Machine } from '../machine/machine.ts';
import { network } from '../network.ts';
import { apiServerService, controllerManagerService, etcdService, schedulerService } from './services.ts';

/** The machine of the control plane. Its bridge `nodes` is the network that connects the nodes to it. */
export class ControlPlane {
  readonly machine: Machine;
  readonly #programs: string;
  readonly #layout: ClusterPaths;

  constructor(programs: string, layout: ClusterPaths) {
    this.machine = new Machine('control-plane', join(layout.directory, 'control-plane'));
    this.#programs = programs;
    this.#layout = layout;
  }

  /** Starts the machine and its network. */
  async start(): Promise<void> {
    if (!(await this.machine.start())) return;
    const { controlPlane, prefixLength } = network;
    for (const command of [
      'link add name nodes address 02:00:0a:4d:00:01 type bridge',
      `address add ${controlPlane}/${prefixLength} dev nodes`,
      'link set dev nodes up',
    ]) {
      await this.machine.runWell(['ip', ...command.split(' ')]);
    }
  }

  /** Starts etcd and the API server, waits until it is ready, and then starts the processes that use it. */
  async serve(): Promise<void> {
    const { machine } = this;
    await machine.serve(etcdService(this.#programs, this.#layout));
    await machine.serve(apiServerService(this.#programs, this.#layout));
    await awaitService(machine, 'kube-apiserver', () => this.#isReady());
    await machine.serve(controllerManagerService(this.#programs, this.#layout));
    await machine.serve(schedulerService(this.#programs, this.#layout));
  }

  async restartApiServer(): Promise<void> {
    await this.machine.endService(apiServerService(this.#programs, this.#layout));
    await this.serve();
  }

  /** Returns true if the API server reports ready, as kubectl would see it, whenever it was started. */
  async #isReady(): Promise<boolean> {
    const command = [join(this.#programs, 'kubectl'), '--kubeconfig', this.#layout.kubeconfig];
    const response = await this.machine.run([...command, 'get', '--raw', '/readyz', '--request-timeout=5s']);
    return response.exitCode === 0 && response.stdout === 'ok';
  }
}
