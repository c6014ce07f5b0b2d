import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { ServerOptions } from 'node:https';

export interface SmallVolume {
  count: number;
  options: unknown;
}

/** A volume driver that mounts nothing, or only with its hooks. It counts mounts as the Go drivers do. */
export interface SmallDriver {
  readonly url: string;
  readonly volumes: Map<string, SmallVolume>;
  /** Route and name of each request. */
  readonly requests: string[];
  /**
   * Replaces the response: a string is sent unchanged, null sends none, undefined means the normal response.
   */
  instead: (route: string, response: ServerResponse) => string | null | undefined;
  /** Called for the first mount. Returns the mount point. */
  mount: (name: string) => Promise<string>;
  /** Called for the last unmount. */
  unmount: (name: string) => Promise<void>;
  stop(): Promise<void>;
}

export interface SmallDriverOptions {
  /** The path of a socket, instead of a free loopback port. */
  readonly socketPath?: string;
  readonly tls?: ServerOptions;
}

export async function smallDriver({ socketPath, tls }: SmallDriverOptions = {}): Promise<SmallDriver> {
  const volumes = new Map<string, SmallVolume>();
  const requests: string[] = [];
  const handle = (request: IncomingMessage, response: ServerResponse): void => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  };
  const server = tls === undefined ? createHttpServer(handle) : createHttpsServer(tls, handle);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse((await text(request)) || '{}') as { Name?: string; Opts?: unknown };
    const route = request.url ?? '';
    const name = body.Name ?? '';
    requests.push(`${route.split('.')[1]} ${name}`.trim());
    const other = driver.instead(route, response);
    if (other === null) return;
    response.setHeader('content-type', 'application/json');
    response.end(other ?? JSON.stringify(await own(route, name, body.Opts)));
  }

  async function own(route: string, name: string, options: unknown): Promise<object> {
    const volume = volumes.get(name);
    switch (route) {
      case '/Plugin.Activate':
        return { Implements: ['VolumeDriver'] };
      case '/VolumeDriver.Create':
        volumes.set(name, { count: volume?.count ?? 0, options });
        return { Err: '' };
      case '/VolumeDriver.Mount':
        return volume === undefined ? unknown(name) : mount(name, volume);
      case '/VolumeDriver.Unmount':
        if (volume === undefined) return unknown(name);
        if (volume.count <= 1) return drop(name);
        volume.count -= 1;
        return { Err: '' };
      case '/VolumeDriver.Remove':
        if (volume !== undefined && volume.count > 0) return drop(name);
        volumes.delete(name);
        return { Err: '' };
      case '/VolumeDriver.List':
        return { Err: '', Volumes: listed() };
      default:
        return { Err: `no route ${route}` };
    }
  }

  const unknown = (name: string): object => ({ Err: `Volume '${name}' not found` });

  /** Returns the list of volumes. It is null without volumes, as in Go. */
  function listed(): object[] | null {
    const entries = [...volumes].map(([Name, { count }]) => ({ Name, MountCount: count }));
    return entries.length === 0 ? null : entries;
  }

  /** Counts a failed mount, too, as the released Go drivers do. */
  async function mount(name: string, volume: SmallVolume): Promise<object> {
    volume.count += 1;
    try {
      return { Err: '', Mountpoint: await driver.mount(name) };
    } catch (error) {
      return { Err: JSON.stringify({ SafeDescription: (error as Error).message }) };
    }
  }

  async function drop(name: string): Promise<object> {
    try {
      await driver.unmount(name);
    } catch (error) {
      return { Err: (error as Error).message };
    }
    volumes.delete(name);
    return { Err: '' };
  }

  await new Promise<void>((resolve) => {
    if (socketPath === undefined) server.listen(0, '127.0.0.1', resolve);
    else server.listen(socketPath, resolve);
  });
  const address = server.address();
  const driver: SmallDriver = {
    url: socketPath ?? `http${tls === undefined ? '' : 's'}://127.0.0.1:${(address as AddressInfo).port}`,
    volumes,
    requests,
    instead: () => undefined,
    mount: async (name) => `/var/vcap/data/volumes/small/${name}`,
    unmount: async () => undefined,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
  return driver;
}
