import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ControlPlane } from './control-plane/control-plane.ts';
import { busyboxImages } from './image/images.ts';
import type { ClusterPaths } from './cluster-paths.ts';
import { drivers } from './csi/drivers.ts';
import { awaitService } from './machine/machine.ts';
import { controllerDriverService, sidecarServices, volumePaths } from './volumes/services.ts';
import { withFileLock } from './programs/directory-cache.ts';
import { nodePlans } from './network.ts';
import { ClusterNode } from './node/cluster-node.ts';
import { renewStaticIp } from './node/renew-static-ip.ts';
import { removeTraces } from './remove-traces.ts';
import { writeCredentials } from './write-credentials.ts';
import type { Stage } from './progress.ts';

/** A Kubernetes cluster of plain processes: the machines of its control plane and its nodes. */
export class RealCluster {
  readonly layout: ClusterPaths;
  readonly controlPlane: ControlPlane;
  readonly nodes: readonly ClusterNode[];
  readonly programs: string;

  /** `programs` is the directory that contains the programs. */
  constructor(programs: string, layout: ClusterPaths) {
    this.layout = layout;
    this.programs = programs;
    this.controlPlane = new ControlPlane(programs, layout);
    this.nodes = nodePlans.map((plan) => new ClusterNode(programs, layout, plan));
  }

  /**
   * Starts everything that does not run; nodes start with the images of `store`. Rejects with the last lines
   * of the log if something does not start.
   */
  async up(stage: Stage, store?: string): Promise<void> {
    const { layout, controlPlane, nodes } = this;
    const { volumes, sockets } = volumePaths(layout);
    for (const directory of [layout.directory, volumes, sockets]) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
    }
    await withFileLock(`${layout.directory}.lock`, async () => {
      await stage('credentials', () => writeCredentials(layout));
      await stage('static-ip', () => renewStaticIp(layout, nodes));
      await stage('machines', async () => {
        await controlPlane.start();
        for (const node of nodes) await node.start(controlPlane.machine, store);
      });
      const images = await busyboxImages();
      await stage('control plane, images', async () => {
        const imported = nodes.flatMap((node) => images.map((image) => node.import(image)));
        await Promise.all([controlPlane.serve(), ...imported]);
      });
      await stage('kubelets', async () => {
        for (const node of nodes) await node.serve();
      });
    });
  }

  /**
   * Starts the processes that connect the volume drivers to the API server. The kinds that they watch must
   * exist.
   */
  async serveVolumes(): Promise<void> {
    const { layout, controlPlane, programs } = this;
    const sidecars = sidecarServices(programs, layout);
    if (await controlPlane.machine.serve(controllerDriverService(layout))) {
      // A sidecar exits when it notices that its driver was restarted, which may be only at its next call.
      for (const sidecar of sidecars) await controlPlane.machine.endService(sidecar);
    }
    const sockets = drivers.map(({ socketName }) => join(volumePaths(layout).sockets, `${socketName}.sock`));
    await awaitService(controlPlane.machine, 'csi-controller', async () =>
      sockets.every((path) => existsSync(path)),
    );
    for (const sidecar of sidecars) await controlPlane.machine.serve(sidecar);
  }

  /**
   * Ends every process and removes everything that the cluster has: namespaces, mounts, control groups, its
   * directory.
   */
  async down(): Promise<void> {
    const { layout, controlPlane, nodes } = this;
    if (!existsSync(layout.directory)) return;
    await withFileLock(`${layout.directory}.lock`, async () => {
      for (const node of nodes) await node.machine.kill();
      await controlPlane.machine.kill();
      await removeTraces(
        layout,
        nodes.map((node) => node.cgroup),
      );
    });
  }

  node(name: string): ClusterNode {
    const found = this.nodes.find((node) => node.name === name);
    if (found === undefined) throw new Error(`there is no node ${name}`);
    return found;
  }

  /** Returns the arguments that run a command where the API server is reachable, with the caller's files. */
  async entering(command: readonly string[]): Promise<string[]> {
    return [...(await this.controlPlane.machine.enteringNetwork()), ...command];
  }

  get kubectl(): string {
    return join(this.programs, 'kubectl');
  }
}
