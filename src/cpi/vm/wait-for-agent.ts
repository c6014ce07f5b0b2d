import { agentSocketExit, agentSocketScript } from './scripts/agent-socket.ts';
import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { truncateAtWord } from '../../errors/text.ts';
import type { CallContext } from '../call.ts';
import { vmContainer, settingsKey } from '../objects/layout.ts';
import type { VmSecret } from './vms.ts';
import { parseSecretUrl } from '../../bosh/parse-secret-url.ts';
import { bitsOf, familyOf } from '../../platform/ip-address.ts';

/** One command polls for this long. Proxies cut longer ones, and a restart of the container ends one. */
const checkSeconds = 5;
const limitSeconds = 10;
const pauseMs = 250;

/**
 * Waits until the agent in the VM's new container is reachable, by its TCP socket. A CPI method that has
 * recreated the container cannot leave this wait to a caller that goes on at once: a director sends
 * update_settings 60 ms after detach_disk. An agent that does not come up does not fail the call: after
 * `deadlines.agent` seconds a line in the log reports it.
 */
export async function waitForAgent(call: CallContext, secret: VmSecret, pod: Pod): Promise<void> {
  const socket = agentSocketOf(secret, pod);
  if (socket === undefined) return;
  const { name } = pod.metadata;
  const seconds = call.config.deadlines.agent;
  const end = call.clock.now() + seconds * 1000;
  for (;;) {
    const remaining = Math.ceil((end - call.clock.now()) / 1000);
    const problem = await checkSocket(call, name, socket, Math.max(1, Math.min(checkSeconds, remaining)));
    if (problem === undefined) return;
    if (call.clock.now() >= end) {
      call.log(
        `the agent of VM '${name}' ${problem} ${seconds} s after its container had started again; ` +
          'the next call to it may fail: look at the log of the agent',
      );
      return;
    }
    await call.clock.sleep(pauseMs);
  }
}

/** Returns undefined if the socket exists, else what the message reports about the agent. */
async function checkSocket(
  call: CallContext,
  pod: string,
  socket: AgentSocket,
  seconds: number,
): Promise<string | undefined> {
  try {
    const { exitCode, stderr } = await call.exec({
      pod,
      container: vmContainer,
      command: [
        '/bin/sh',
        '-c',
        agentSocketScript,
        'agent-socket',
        String(seconds),
        ...socketScriptArgs(socket),
      ],
      deadlineMs: (seconds + limitSeconds) * 1000,
    });
    if (exitCode === agentSocketExit.there) return undefined;
    if (exitCode === agentSocketExit.missing) return socketMissingMessage(socket);
    return `could not be checked (exit code ${exitCode}: ${shortLine(stderr)})`;
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    return `could not be checked (${error.message})`;
  }
}

/** Shortens a text that root of the VM may have written. */
const shortLine = (text: string): string => truncateAtWord(text.trim().replaceAll(/\s+/gu, ' '), 200);

const socketMissingMessage = ({ state, port }: AgentSocket): string =>
  state === 'listening'
    ? `did not listen at port ${port}`
    : `was not connected to port ${port} of its message broker`;

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
  const requested = Object.values(settings.networks ?? {}).map(({ ip = '' }) => ip);
  const own = (pod.status?.podIPs ?? []).map(({ ip }) => ip);
  const named = [...anyAddress, url.hostname.replace(/^\[|\]$/gu, ''), ...requested, ...own];
  const addresses = [...new Set(named)].filter((address) => familyOf(address) !== undefined);
  return { state: 'listening', port: Number(url.port || '443'), addresses };
}

/**
 * Returns the arguments of `agentSocketScript` after the seconds, in the form of the kernel's tables:
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
  const groups = bytes?.join('').match(/.{8}/gu) ?? [];
  const text = groups.map((group) => (group.match(/../gu) ?? []).toReversed().join('')).join('');
  return family === 'IPv4' ? [text, `0000000000000000FFFF0000${text}`] : [text];
}
