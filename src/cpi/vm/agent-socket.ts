import { parseSecretUrl } from '../../bosh/parse-secret-url.ts';
import { bitsOf, familyOf } from '../../kubernetes/ip-text.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import type { VmSecret } from './pod-record.ts';
import { settingsKey } from './vm-pod.ts';

/** The TCP socket that shows that a VM's agent is reachable. */
export interface AgentSocket {
  /** The socket listens at the mbus port, or is connected to the port of the broker. */
  readonly state: 'listening' | 'connected';
  readonly port: number;
  /**
   * Addresses at which it may listen, besides all addresses. Pods of the embedded node share the machine's
   * network.
   */
  readonly addresses: readonly string[];
}

const anyAddress = ['0.0.0.0', '::'];

/**
 * Returns the socket for the mbus of the VM's settings; undefined if they have no mbus of a known protocol.
 */
export function agentSocketOf({ data }: Pick<VmSecret, 'data'>, pod: Pod): AgentSocket | undefined {
  const settings = JSON.parse(Buffer.from(data[settingsKey] ?? 'e30=', 'base64').toString('utf8')) as {
    readonly mbus?: string;
    readonly networks?: Readonly<Record<string, { readonly ip?: string }>>;
  };
  const url = parseSecretUrl(settings.mbus ?? '')?.url;
  if (url?.protocol === 'nats:')
    return { state: 'connected', port: Number(url.port || '4222'), addresses: [] };
  if (url?.protocol !== 'https:') return undefined;
  const asked = Object.values(settings.networks ?? {}).map(({ ip = '' }) => ip);
  const own = (pod.status?.podIPs ?? []).map(({ ip }) => ip);
  const named = [...anyAddress, url.hostname.replace(/^\[|\]$/gu, ''), ...asked, ...own];
  const addresses = [...new Set(named)].filter((address) => familyOf(address) !== undefined);
  return { state: 'listening', port: Number(url.port || '443'), addresses };
}

/**
 * Returns the arguments of agent-socket-script.ts after the seconds, in the form of the kernel's tables:
 * proc(5), /proc/net/tcp.
 */
export function socketScriptArgs({ state, port, addresses }: AgentSocket): string[] {
  const hexPort = port.toString(16).toUpperCase().padStart(4, '0');
  if (state === 'connected') return ['01', '3', hexPort, ''];
  return ['0A', '2', hexPort, addresses.flatMap(procNetAddresses).join(' ')];
}

/**
 * Returns an address as 32-bit words in the machine's byte order; an IPv4 address also in the form that an
 * IPv6 socket has.
 */
function procNetAddresses(address: string): string[] {
  const family = familyOf(address);
  if (family === undefined) return [];
  const bytes = bitsOf(address, family)
    .match(/.{8}/gu)
    ?.map((bits) => Number.parseInt(bits, 2).toString(16).toUpperCase().padStart(2, '0'));
  const words = bytes?.join('').match(/.{8}/gu) ?? [];
  const text = words.map((word) => (word.match(/../gu) ?? []).toReversed().join('')).join('');
  return family === 'IPv4' ? [text, `0000000000000000FFFF0000${text}`] : [text];
}
