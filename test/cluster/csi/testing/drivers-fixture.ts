import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { detach, devicesOf } from '../devices.ts';
import { drivers, loopDriver, type Driver } from '../drivers.ts';
import { connect, type CsiClient } from '../grpc.ts';
import { openVolumeStore, type VolumeStore } from '../volume-store.ts';
import { DriverProcess, openMountNamespace } from './driver-process.ts';

/** Drivers in separate processes: one controller, and one driver per node in the node's mount namespace. */
export interface DriversFixture {
  readonly controllerProcess: DriverProcess;
  store(): Promise<VolumeStore>;
  controller(driver?: Driver): CsiClient;
  identity(): CsiClient;
  startNode(nodeId: string): Promise<NodeFixture>;
}

export interface NodeFixture {
  readonly id: string;
  readonly process: DriverProcess;
  /** The pid of the process that keeps its mount namespace. */
  readonly pid: number;
  readonly client: CsiClient;
  /** Returns the path outside of the node's mount namespace. */
  path(path: string): string;
  /** Returns the paths of a volume as a kubelet would choose them. */
  staging(volumeId: string): string;
  target(volumeId: string): string;
}

/** Starts a controller. `startNode` adds nodes. Everything is removed after the test, including devices. */
export async function startDrivers(t: TestContext): Promise<DriversFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'csi-'));
  const [data, sockets] = [join(directory, 'data'), join(directory, 's')];
  const shared = ['--directory', data, '--sockets', sockets];
  const clients: CsiClient[] = [];
  const ends: (() => Promise<void>)[] = [];
  const client = (service: 'Controller' | 'Node' | 'Identity', socket: string): CsiClient => {
    const made = connect(service, join(sockets, `${socket}.sock`));
    clients.push(made);
    return made;
  };
  t.after(async () => {
    for (const each of clients) each.close();
    for (const end of ends.toReversed()) await end();
    for (const driver of drivers) await detachAll(join(data, driver.name, 'volumes'));
    await rm(directory, { recursive: true });
  });
  const launch = async (args: readonly string[]): Promise<{ process: DriverProcess; pid: number }> => {
    const namespace = await openMountNamespace();
    const process = new DriverProcess(namespace, [...args, ...shared]);
    ends.push(async () => {
      await process.kill();
      await namespace.end();
    });
    await process.start();
    return { process, pid: namespace.pid };
  };
  const controller = await launch(['controller']);
  return {
    controllerProcess: controller.process,
    store: () => openVolumeStore(join(data, loopDriver.name)),
    controller: (driver = loopDriver) => client('Controller', driver.socketName),
    identity: () => client('Identity', loopDriver.socketName),
    startNode: async (id) => {
      const kubeletRoot = join(directory, id);
      await mkdir(kubeletRoot);
      const { process, pid } = await launch(['node', '--node-id', id, '--kubelet-root', kubeletRoot]);
      return {
        id,
        process,
        pid,
        client: client('Node', `${id}-loop`),
        path: (path) => `/proc/${pid}/root${path}`,
        staging: (volumeId) => join(kubeletRoot, 'plugins', volumeId, 'globalmount'),
        target: (volumeId) => join(kubeletRoot, 'pods', volumeId, 'mount'),
      };
    },
  };
}

async function detachAll(volumes: string): Promise<void> {
  for (const name of await readdir(volumes)) {
    if (!name.endsWith('.img')) continue;
    for (const device of await devicesOf(join(volumes, name))) await detach(device);
  }
}
