import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { clientOwnerFinder } from '../../tunnel/client-owner.ts';
import { ownSocketFinder } from '../../tunnel/own-sockets.ts';
import { startTunnel, type Tunnel } from '../../tunnel/start-tunnel.ts';
import type { CommandContext } from '../command.ts';
import type { TunnelDialer } from './with-tunnel.ts';

export interface ServeOptions {
  /** 0 selects a free port. */
  readonly port: number;
  /** Also serve this user's processes in other pid namespaces. */
  readonly allowsContainers?: boolean;
  readonly log: (line: string) => void;
}

/** Serves a dialer as a SOCKS5 proxy on 127.0.0.1 for the processes of this user. */
export function serveTunnel(
  way: TunnelDialer,
  { port, allowsContainers, log }: ServeOptions,
): Promise<Tunnel> {
  const isLinux = process.platform === 'linux';
  if (!isLinux)
    log(
      'This system does not show which user a client belongs to: every user of this machine can use the tunnel',
    );
  return startTunnel({
    port,
    connect: way,
    clientOwner: isLinux ? clientOwnerFinder() : undefined,
    ownSocket: isLinux && allowsContainers !== true ? ownSocketFinder() : undefined,
    uid: process.getuid?.(),
    log,
  });
}

/** Returns the environment variables for clients of a tunnel: those of the bosh CLI and the credhub CLI. */
export function proxyVariables(port: number): Readonly<Record<'BOSH_ALL_PROXY' | 'CREDHUB_PROXY', string>> {
  const url = `socks5://127.0.0.1:${port}`;
  return { BOSH_ALL_PROXY: url, CREDHUB_PROXY: url };
}

/** Copies stdin to the connection and its data unchanged to stdout, until the other side ends. */
export async function connectStdio(
  remote: Duplex,
  { signal }: Pick<CommandContext, 'signal'>,
): Promise<number> {
  const interrupt = (): void => void remote.destroy();
  signal.addEventListener('abort', interrupt);
  process.stdin.pipe(remote);
  remote.pipe(process.stdout, { end: false });
  try {
    await finished(remote, { writable: false });
    return 0;
  } catch (error) {
    if (signal.aborted) return 130;
    throw error;
  } finally {
    signal.removeEventListener('abort', interrupt);
    process.stdin.destroy();
    remote.destroy();
  }
}
