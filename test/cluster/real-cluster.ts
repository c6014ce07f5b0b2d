import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ControlPlane } from './control-plane/control-plane.ts';
import { busyboxImages } from './image/images.ts';
import { type Layout } from './layout.ts';
import { drivers } from './csi/drivers.ts';
import { awaitService } from './machine/machine.ts';
import { controllerDriverService, sidecarServices, volumePlaces } from './volumes/services.ts';
import { holdingLock } from './programs/holding-lock.ts';
import { nodePlans } from './network.ts';
import { ClusterNode } from './node/cluster-node.ts';
import { renewStaticIp } from './node/renew-static-ip.ts';
import { removeTraces } from './remove-traces.ts';
import { writeCredentials } from './pki/write-credentials.ts';
import type { Stage } from './stages.ts';

/** A Kubernetes of plain processes: the machines of its control plane and of its nodes. */
export class RealCluster {
  readonly layout: Layout;
  readonly controlPlane: ControlPlane;
  readonly nodes: readonly ClusterNode[];
  readonly programs: string;

  /** `programs`: the folder that has them. */
  constructor(programs: string, layout: Layout) {
    this.layout = layout;
    this.programs = programs;
    this.controlPlane = new ControlPlane(programs, layout);
    this.nodes = nodePlans.map((plan) => new ClusterNode(programs, layout, plan));
  }

  /** Starts what does not run, nodes with the images of `store`. Rejects when something does not come up, with its last words. */
  async up(stage: Stage, store?: string): Promise<void> {
    const { layout, controlPlane, nodes } = this;
    const { volumes, sockets } = volumePlaces(layout);
    for (const directory of [layout.directory, volumes, sockets]) {
      await mkdir(directory, { recursive: true, mode: 0o700 });
    }
    await holdingLock(`${layout.directory}.lock`, async () => {
      await stage('credentials', () => writeCredentials(layout, Date.now()));
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

  /** Starts what brings the volume drivers and the API server together; the kinds that they watch have to be there. */
  async serveVolumes(): Promise<void> {
    const { layout, controlPlane, programs } = this;
    const sidecars = sidecarServices(programs, layout);
    if (await controlPlane.machine.serve(controllerDriverService(layout))) {
      // a sidecar ends as soon as it notices that its driver was started again, which may be at its next call
      for (const sidecar of sidecars) await controlPlane.machine.endService(sidecar);
    }
    const sockets = drivers.map(({ socketName }) => join(volumePlaces(layout).sockets, `${socketName}.sock`));
    await awaitService(controlPlane.machine, 'csi-controller', async () =>
      sockets.every((path) => existsSync(path)),
    );
    for (const sidecar of sidecars) await controlPlane.machine.serve(sidecar);
  }

  /** Ends every process and removes all that the cluster has: namespaces, mounts, control groups, its folder. */
  async down(): Promise<void> {
    const { layout, controlPlane, nodes } = this;
    if (!existsSync(layout.directory)) return;
    await holdingLock(`${layout.directory}.lock`, async () => {
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

  /** The words that run a command where the API server can be reached, with the files of the caller. */
  async entering(command: readonly string[]): Promise<string[]> {
    return [...(await this.controlPlane.machine.enteringNetwork()), ...command];
  }

  get kubectl(): string {
    return join(this.programs, 'kubectl');
  }
}
