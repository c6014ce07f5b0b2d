import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Access } from '../kubernetes/access/access.ts';
import { openPodPort } from '../kubernetes/client/port-forward.ts';
import { findRoute, type Route, type RouteOptions } from './find-route.ts';
import type { Destination } from './socks5.ts';

export type ConnectOptions = Omit<RouteOptions, 'resolve'> & { readonly access: Access };

/**
 * Opens a stream to a destination, over the route that findRoute returns. Rejects as findRoute and
 * openPodPort do, or with the system's error.
 */
export async function connectTo(destination: Destination, options: ConnectOptions): Promise<Duplex> {
  const route = await findRoute(destination, { ...options, resolve });
  return route.kind === 'pod' ? openPodPort(options.access, route) : dial(route);
}

async function resolve(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}

/** Dials only those addresses: another lookup of the name could return others, of the cluster's networks. */
async function dial({ addresses, port }: Extract<Route, { kind: 'direct' }>): Promise<Socket> {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  const known: LookupFunction = (_name, _options, done) => done(null, all);
  const [only = ''] = addresses;
  const socket = connect({
    port,
    ...(all.length === 1 ? { host: only } : { host: 'resolved', lookup: known, autoSelectFamily: true }),
    allowHalfOpen: true,
    noDelay: true,
  });
  await once(socket, 'connect');
  return socket;
}
