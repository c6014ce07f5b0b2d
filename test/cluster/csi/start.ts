import { join } from 'node:path';
import type { Clock } from '../../../src/platform/clock.ts';
import { controllerService } from './controller-service.ts';
import type { Driver } from './drivers.ts';
import { serve } from './grpc.ts';
import { identityService, registrationService } from './identity-service.ts';
import { nodeService } from './node-service.ts';
import { thawLeftover } from './volume-files.ts';
import { keyedLock, openVolumeStore } from './volume-store.ts';

interface StartOptions {
  /** Shared by the controller and all nodes. Each driver has a subdirectory. */
  readonly directory: string;
  readonly sockets: string;
  readonly drivers: readonly Driver[];
  readonly clock: Clock;
  /** Writes one line to the log. */
  readonly log: (line: object) => void;
}

interface NodeOptions extends StartOptions {
  readonly nodeId: string;
  readonly zone: string | undefined;
  readonly kubeletRoot: string;
}

type Stop = () => void;

/**
 * Serves the controller service of each driver on `<sockets>/<socketName>.sock`. First thaws file systems
 * that a previous process left frozen.
 */
export async function startController(options: StartOptions): Promise<Stop[]> {
  const { directory, sockets, clock, log: report } = options;
  return await Promise.all(
    options.drivers.map(async (driver) => {
      const store = await openVolumeStore(join(directory, driver.name));
      for (const { id } of await store.volumes()) await thawLeftover(store.image(id));
      const service = await serve({
        socket: join(sockets, `${driver.socketName}.sock`),
        services: {
          Identity: identityService(driver),
          Controller: controllerService({ driver, store, lock: keyedLock(), clock }),
        },
        onCall: (call) => report({ driver: driver.socketName, ...call }),
      });
      return () => service.stop();
    }),
  );
}

/**
 * Serves the node service of each driver on `<sockets>/<node id>-<socketName>.sock` and registers it with the
 * node's kubelet.
 */
export async function startNode(options: NodeOptions): Promise<Stop[]> {
  const { directory, sockets, nodeId, zone, kubeletRoot, log: report } = options;
  const stops = options.drivers.map(async (driver) => {
    const store = await openVolumeStore(join(directory, driver.name));
    await store.addNode(nodeId, zone);
    const socket = join(sockets, `${nodeId}-${driver.socketName}.sock`);
    const onCall = (call: object): void => report({ node: nodeId, driver: driver.socketName, ...call });
    const node = { driver, store, lock: keyedLock(), nodeId, zone };
    const service = await serve({
      socket,
      services: { Identity: identityService(driver), Node: nodeService(node) },
      onCall,
    });
    // Start this after the service, because the kubelet calls the service as soon as it sees this socket.
    const registration = await serve({
      socket: join(kubeletRoot, 'plugins_registry', `${driver.socketName}.sock`),
      services: {
        Registration: registrationService(driver, socket, (error) => {
          report({
            node: nodeId,
            driver: driver.socketName,
            registered: error === undefined,
            ...(error && { error }),
          });
        }),
      },
      onCall,
    });
    return [() => registration.stop(), () => service.stop()];
  });
  return (await Promise.all(stops)).flat();
}
