import { clientOwner } from '../tunnel/client-owner.ts';
import { startTunnel, type Tunnel } from '../tunnel/start-tunnel.ts';
import type { Way } from './open-way.ts';

export interface ServeOptions {
  /** 0: any that is free. */
  readonly port: number;
  readonly log: (line: string) => void;
}

/** Serves a way as SOCKS5 proxy on 127.0.0.1 to the processes of this user. */
export function serveWay(way: Way, { port, log }: ServeOptions): Promise<Tunnel> {
  const isLinux = process.platform === 'linux';
  if (!isLinux)
    log('This system does not tell whose process a client is: every user of this machine can use the tunnel');
  return startTunnel({
    port,
    connect: way,
    clientOwner: isLinux ? clientOwner : undefined,
    uid: process.getuid?.(),
    log,
  });
}

/** What clients of a tunnel have in their environment: the bosh CLI's variable, and the credhub CLI's. */
export function proxyVariables(port: number): Readonly<Record<'BOSH_ALL_PROXY' | 'CREDHUB_PROXY', string>> {
  const url = `socks5://127.0.0.1:${port}`;
  return { BOSH_ALL_PROXY: url, CREDHUB_PROXY: url };
}
