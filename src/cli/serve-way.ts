import { findClientOwners } from '../tunnel/client-owner.ts';
import { findOwnSockets } from '../tunnel/own-sockets.ts';
import { startTunnel, type Tunnel } from '../tunnel/start-tunnel.ts';
import type { TunnelDialer } from './open-way.ts';

export interface ServeOptions {
  /** 0: any that is free. */
  readonly port: number;
  /** Processes of this user in other pid namespaces are served, too. */
  readonly allowsContainers?: boolean;
  readonly log: (line: string) => void;
}

/** Serves a way as SOCKS5 proxy on 127.0.0.1 to the processes of this user. */
export function serveTunnel(
  way: TunnelDialer,
  { port, allowsContainers, log }: ServeOptions,
): Promise<Tunnel> {
  const isLinux = process.platform === 'linux';
  if (!isLinux)
    log('This system does not tell whose process a client is: every user of this machine can use the tunnel');
  return startTunnel({
    port,
    connect: way,
    clientOwner: isLinux ? findClientOwners() : undefined,
    ownSocket: isLinux && allowsContainers !== true ? findOwnSockets() : undefined,
    uid: process.getuid?.(),
    log,
  });
}

/** What clients of a tunnel have in their environment: the bosh CLI's variable, and the credhub CLI's. */
export function proxyVariables(port: number): Readonly<Record<'BOSH_ALL_PROXY' | 'CREDHUB_PROXY', string>> {
  const url = `socks5://127.0.0.1:${port}`;
  return { BOSH_ALL_PROXY: url, CREDHUB_PROXY: url };
}
