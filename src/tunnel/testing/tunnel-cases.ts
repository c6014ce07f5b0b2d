import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import { socks5Connect } from '../../bosh/agent-client/socks5-connect.ts';
import type { Access } from '../../kubernetes/access/access.ts';
import type { RestApi } from '../../kubernetes/client/rest-api.ts';
import { connectTo } from '../find-route.ts';
import { parseNameMap, parseNetworks } from '../options.ts';
import { startTunnel } from '../start-tunnel.ts';

/**
 * A cluster with a pod: port 25555 sends `the director` and ends, port 26 sends `begun` and stays open, and
 * nothing listens on port 6868.
 */
export interface TunnelWorld {
  readonly access: Access;
  readonly api: RestApi;
  readonly namespace: string;
  readonly networks: readonly string[];
  readonly pod: { readonly name: string; readonly address: string };
  /** Port 443 of the Service leads to port 25555 of the pod. */
  readonly service: { readonly name: string; readonly address: string };
  /** An address in the networks that no pod has. */
  readonly absent: string;
  /** Breaks every connection through the API server; resolves when it serves again. */
  readonly restartApi: () => Promise<void>;
}

export interface OpenTunnel {
  readonly port: number;
  readonly log: readonly string[];
  readonly open: (host: string, port: number) => Promise<Socket>;
}

export async function openTunnel(
  t: TestContext,
  { access, api, namespace, networks, service }: TunnelWorld,
  options: { readonly handshakeMs?: number } = {},
): Promise<OpenTunnel> {
  const log: string[] = [];
  const namespaces = [namespace];
  const names = parseNameMap([`*.sys.example.com=${service.name}`], namespaces);
  const ways = { access, api, namespaces, networks: parseNetworks(networks), names };
  const tunnel = await startTunnel({
    port: 0,
    connect: (destination) => connectTo(destination, ways),
    uid: undefined,
    log: (line) => log.push(line),
    ...options,
  });
  t.after(() => tunnel.close());
  const open = (host: string, port: number): Promise<Socket> =>
    socks5Connect({ host: '127.0.0.1', port: tunnel.port }, { host, port });
  return { port: tunnel.port, log, open };
}

interface TunnelCase {
  readonly name: string;
  readonly run: (t: TestContext, world: TunnelWorld) => Promise<void>;
}

/** The cases that a tunnel must pass with every cluster. */
export const tunnelCases: readonly TunnelCase[] = [
  {
    name: 'a pod and a Service are reached by address and by name',
    run: async (t, world) => {
      const { open } = await openTunnel(t, world);
      const { pod, service, namespace } = world;
      for (const [host, port] of [
        [pod.address, 25555],
        [`::ffff:${pod.address}`, 25555],
        [`${pod.name}.${namespace}.pod`, 25555],
        [`${pod.address.replaceAll('.', '-')}.${namespace}.pod.cluster.local`, 25555],
        [service.address, 443],
        [`${service.name}.${namespace}.svc`, 443],
        [`${service.name}.${namespace}.svc.cluster.local`, 443],
        ['api.sys.example.com', 443],
      ] as const)
        assert.equal((await text(await open(host, port))).trim(), 'the director', host);
    },
  },
  {
    name: 'an address of the networks without a pod is refused',
    run: async (t, world) => {
      const { open, log } = await openTunnel(t, world);
      for (const host of [world.absent, `::ffff:${world.absent}`]) {
        await assert.rejects(open(host, 80), /refuses that address/, host);
        assert.match(log.at(-1) ?? '', /No running pod of namespace/);
      }
    },
  },
  {
    name: 'a port without a listener breaks the connection, and is logged with pod and port',
    run: async (t, world) => {
      const { open, log } = await openTunnel(t, world);
      const { pod, namespace } = world;
      await assert.rejects(async () => text(await open(pod.address, 6868)), { code: 'ECONNRESET' });
      assert.match(log.join('\n'), new RegExp(`Port 6868 of pod ${namespace}/${pod.name} .*listens?`, 'u'));
    },
  },
  {
    name: 'a client gets an error when the API server restarts, and new connections work',
    run: async (t, world) => {
      const { open, log } = await openTunnel(t, world);
      const socket = await open(world.pod.address, 26);
      await once(socket, 'readable');
      const broken = assert.rejects(text(socket), { code: 'ECONNRESET' });
      await world.restartApi();
      await broken;
      assert.match(log.join('\n'), /Kubernetes API at/);
      assert.equal((await text(await open(world.pod.address, 25555))).trim(), 'the director');
    },
  },
];
