import { lookup } from 'node:dns/promises';
import { hostOfShare } from '../../options/share.ts';
import { probeTcp } from './exchange.ts';
import { nfsNullCall, isNfsAnswer } from './nfs-null.ts';
import { isSmbAnswer, smbNegotiate } from './smb-negotiate.ts';

/** The reaction to a file server that does not respond: none, a line in the log, or an error response. */
export type PreflightMode = 'off' | 'log' | 'require';

/**
 * Returns an error text if the file server cannot be reached or does not speak the protocol, otherwise
 * undefined. Never rejects.
 */
export type Preflight = (protocol: 'nfs' | 'smb', share: string) => Promise<string | undefined>;

export interface PreflightOptions {
  readonly ports: { readonly nfs: number; readonly smb: number };
  /** Milliseconds for all steps together. */
  readonly deadlineMs: number;
}

/** The standard ports. Users cannot choose a port, so no parameter reaches another one. */
export const protocolPorts = { nfs: 2049, smb: 445 } as const;

/**
 * Returns a check that resolves the server's name, connects and checks the protocol. It does not mount the
 * share.
 */
export function createPreflight({ ports, deadlineMs }: PreflightOptions): Preflight {
  return async (protocol, share) => {
    const host = hostOfShare(share);
    const signal = AbortSignal.timeout(deadlineMs);
    const address = await resolveHost(host, signal);
    if (address === undefined) return `the name ${host} cannot be resolved`;
    const port = ports[protocol];
    const outcome = await probeTcp({
      address,
      port,
      request: protocol === 'nfs' ? nfsNullCall() : smbNegotiate(),
      signal,
    });
    const name = protocol.toUpperCase();
    if (outcome === 'refused')
      return `${host} refuses connections to port ${port}, where ${name} servers listen`;
    if (outcome === 'silent') return `${host} did not answer at port ${port} within ${deadlineMs / 1000} s`;
    if (outcome === 'closed')
      return `${host} closed the connection to port ${port} without an answer of ${name}`;
    const speaks = protocol === 'nfs' ? isNfsAnswer(outcome) : isSmbAnswer(outcome);
    return speaks ? undefined : `what listens at port ${port} of ${host} is no ${name} server`;
  };
}

async function resolveHost(host: string, signal: AbortSignal): Promise<string | undefined> {
  const timeout = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  try {
    return (await Promise.race([lookup(host), timeout]))?.address;
  } catch {
    // any error of the resolver means that there is no address
    return undefined;
  }
}
