import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Access } from '../access/access.ts';
import type { KubernetesObject } from '../object.ts';
import { startTlsServer } from './tls-server.ts';

export interface PortForwardServer {
  readonly access: Access;
  /** The objects that `GET` and lists return, by the collection's path; may be changed. */
  readonly objects: Map<string, KubernetesObject[]>;
  /** The listening port of this machine for each `namespace/pod:port`. */
  readonly listeners: Map<string, number>;
  /** The method, path and query of every request and upgrade. */
  readonly requests: string[];
  /** Breaks every forwarded connection, as a restart of the API server does. */
  readonly breakConnections: () => void;
  /** Sends every client the error that the pod has reset its connection, after earlier data. */
  readonly resetPods: () => void;
  /** Returns the number of bytes sent by pods since the start. */
  readonly forwarded: () => number;
  /** Returns the number of pings since the start. */
  readonly pings: () => number;
  readonly close: () => Promise<void>;
}

const subprotocol = 'v4.channel.k8s.io';

/**
 * Starts an API server that serves lists with the selectors that a tunnel sends, and v4.channel.k8s.io as a
 * kubelet does. A pod that is not in `objects` is not found. A pod named `unknown` belongs to a server
 * without port forwarding.
 */
export async function startPortForwardServer(): Promise<PortForwardServer> {
  const objects = new Map<string, KubernetesObject[]>();
  const listeners = new Map<string, number>();
  const requests: string[] = [];
  let pings = 0;
  let forwarded = 0;
  const { access, server, close } = await startTlsServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    answer(new URL(request.url ?? '/', 'https://any'), objects, response);
  });
  const sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const url = new URL(request.url ?? '/', 'https://any');
    requests.push(`UPGRADE ${request.url}`);
    const [, namespace = '', pod = ''] =
      /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/portforward$/u.exec(url.pathname) ?? [];
    const found = objects.get(`/api/v1/namespaces/${namespace}/pods`)?.some(named(pod)) === true;
    if (!found) return refuse(socket, pod);
    const port = Number(url.searchParams.get('ports'));
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      webSocket.on('ping', () => (pings += 1));
      forward(
        webSocket,
        port,
        listeners.get(`${namespace}/${pod}:${port}`),
        (length) => (forwarded += length),
      );
    });
  });
  const breakConnections = (): void => {
    for (const client of sockets.clients) client.terminate();
  };
  const resetPods = (): void => {
    for (const client of sockets.clients) {
      client.send(
        Buffer.concat([
          Uint8Array.of(1),
          Buffer.from('error forwarding port: read: connection reset by peer'),
        ]),
      );
      client.close(1000);
    }
  };
  return {
    access,
    objects,
    listeners,
    requests,
    breakConnections,
    resetPods,
    forwarded: () => forwarded,
    pings: () => pings,
    close: async () => {
      breakConnections();
      await close();
    },
  };
}

const named =
  (name: string) =>
  ({ metadata }: KubernetesObject): boolean =>
    metadata.name === name;

const notFound = (details: object): string =>
  JSON.stringify({ kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404, details });

function answer(url: URL, objects: Map<string, KubernetesObject[]>, response: ServerResponse): void {
  const [, collection = '', name] = /^(\/.*?(?:pods|services|endpointslices))(?:\/([^/]+))?$/u.exec(
    url.pathname,
  ) ?? [undefined, url.pathname];
  const all = objects.get(collection) ?? [];
  const found = name === undefined ? undefined : all.find(named(name));
  response.setHeader('content-type', 'application/json');
  const [, namespace] = /^\/api\/v1\/namespaces\/([^/]+)$/u.exec(url.pathname) ?? [];
  if (namespace !== undefined)
    response.end(
      JSON.stringify({ metadata: { name: namespace, uid: `uid-of-${namespace}`, resourceVersion: '1' } }),
    );
  else if (found !== undefined) response.end(JSON.stringify(found));
  else if (name !== undefined) response.writeHead(404).end(notFound({ name, kind: 'any' }));
  else
    response.end(
      JSON.stringify({ kind: 'List', metadata: { resourceVersion: '1' }, items: all.filter(selected(url)) }),
    );
}

/** Filters by the one field and the one label that a tunnel selects by. */
const selected =
  (url: URL) =>
  (object: KubernetesObject): boolean => {
    const [, address] = /^status\.podIP=(.*)$/u.exec(url.searchParams.get('fieldSelector') ?? '') ?? [];
    const [label = '', value] = (url.searchParams.get('labelSelector') ?? '').split('=');
    const status = 'status' in object ? (object.status as { podIP?: string }) : {};
    return (
      (address === undefined || status.podIP === address) &&
      (value === undefined || object.metadata.labels?.[label] === value)
    );
  };

function refuse(socket: Duplex, pod: string): void {
  const body = pod === 'unknown' ? notFound({}) : notFound({ name: pod, kind: 'pods' });
  socket.end(
    `HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
}

/** Forwards like containerd; the messages were recorded from Kubernetes 1.36. */
function forward(
  socket: WebSocket,
  port: number,
  local: number | undefined,
  count: (length: number) => void,
): void {
  const number = Buffer.alloc(2);
  number.writeUInt16LE(port);
  const send = (channel: number, data: Buffer): void =>
    socket.send(Buffer.concat([Uint8Array.of(channel), data]));
  send(0, number);
  send(1, number);
  if (local === undefined) {
    const message = `error forwarding port ${port} to pod 81a8, uid : failed to connect to localhost:${port} inside namespace "81a8", IPv4: dial tcp4 127.0.0.1:${port}: connect: connection refused `;
    send(1, Buffer.from(message));
    return socket.close(1000);
  }
  const target = connect(local, '127.0.0.1');
  socket.on('message', (data: Buffer) => {
    if (!target.write(data.subarray(1))) {
      socket.pause();
      void once(target, 'drain').then(() => socket.resume());
    }
  });
  socket.on('close', () => target.destroy());
  target.on('data', (data) => {
    count(data.length);
    target.pause();
    socket.send(Buffer.concat([Uint8Array.of(0), data]), () => target.resume());
  });
  target.on('end', () => socket.close(1000));
  target.on('error', () => socket.close(1000));
}
