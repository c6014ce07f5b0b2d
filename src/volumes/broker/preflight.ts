import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { shareHost } from '../options/share.ts';

/** The reaction to a file server that does not respond: none, a line in the log, or an error response. */
export type PreflightMode = 'off' | 'log' | 'require';

/**
 * Returns an error text if the file server cannot be reached or does not speak the protocol, otherwise
 * undefined. Never rejects.
 */
export type Preflight = (protocol: 'nfs' | 'smb', share: string) => Promise<string | undefined>;

interface PreflightOptions {
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
    const host = shareHost(share);
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
      return `${host} closed the connection to port ${port} without a response of ${name}`;
    const speaks = protocol === 'nfs' ? isNfsAnswer(outcome) : isSmbAnswer(outcome);
    return speaks
      ? undefined
      : `the program that listens at port ${port} of ${host} is not an ${name} server`;
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

/** The first bytes of the response, or why there are none. */
type ProbeResult = Buffer | 'refused' | 'silent' | 'closed';

/** Enough bytes to recognise the protocol of the server. */
const minResponseBytes = 28;

/**
 * Sends one request over TCP, resolves with the beginning of the response, and closes the connection. Never
 * rejects.
 */
function probeTcp(options: {
  readonly address: string;
  readonly port: number;
  readonly request: Buffer;
  readonly signal: AbortSignal;
}): Promise<ProbeResult> {
  const { address, port, request, signal } = options;
  return new Promise((resolve) => {
    const socket = connect({ host: address, port });
    let received = Buffer.alloc(0);
    let isConnected = false;
    const end = (outcome: ProbeResult): void => {
      signal.removeEventListener('abort', onTime);
      socket.destroy();
      resolve(outcome);
    };
    const onTime = (): void => end('silent');
    signal.addEventListener('abort', onTime, { once: true });
    if (signal.aborted) onTime();
    socket.on('connect', () => {
      isConnected = true;
      socket.write(request);
    });
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes]);
      if (received.length >= minResponseBytes) end(received);
    });
    socket.on('end', () => end(received.length > 0 ? received : 'closed'));
    socket.on('error', () => end(isConnected ? 'closed' : 'refused'));
  });
}

const program = 100_003;
const version = 4;
const transactionId = 0x6e_66_73_30;
const lastFragment = 0x80_00_00_00;

/**
 * Returns a call of NFS's NULL procedure (RFC 5531 9, RFC 7530 16.1): a record mark, then ten 32-bit words.
 */
function nfsNullCall(): Buffer {
  const fields = [transactionId, 0, 2, program, version, 0, 0, 0, 0, 0];
  const bytes = Buffer.alloc(4 + fields.length * 4);
  bytes.writeUInt32BE(lastFragment + fields.length * 4, 0);
  fields.forEach((field, index) => bytes.writeUInt32BE(field, 4 + index * 4));
  return bytes;
}

/** Returns true for a response to that call: success, or a server that has only other versions of NFS. */
function isNfsAnswer(bytes: Buffer): boolean {
  if (bytes.length < 28) return false;
  const [id, type, status] = [4, 8, 12].map((at) => bytes.readUInt32BE(at));
  // the accept status is after a verifier without a body, as AUTH_NONE has it
  const accepted = bytes.readUInt32BE(24);
  return id === transactionId && type === 1 && status === 0 && (accepted === 0 || accepted === 2);
}

const headerBytes = 64;
const dialects = [0x02_02, 0x02_10, 0x03_00, 0x03_02];
const magic = Buffer.from([0xfe, 0x53, 0x4d, 0x42]);

/** Returns the first request of a client of SMB 2 and 3 (MS-SMB2 2.2.3), in a frame of direct TCP (2.1). */
function smbNegotiate(): Buffer {
  const header = Buffer.alloc(headerBytes);
  magic.copy(header);
  header.writeUInt16LE(headerBytes, 4);
  // the client requests one credit
  header.writeUInt16LE(1, 14);
  const body = Buffer.alloc(36 + dialects.length * 2);
  body.writeUInt16LE(36, 0);
  body.writeUInt16LE(dialects.length, 2);
  // signing enabled
  body.writeUInt16LE(1, 4);
  dialects.forEach((dialect, index) => body.writeUInt16LE(dialect, 36 + index * 2));
  const frame = Buffer.alloc(4);
  frame.writeUInt32BE(header.length + body.length);
  return Buffer.concat([frame, header, body]);
}

/** Returns true for a response of SMB 2 or 3 to that request. */
function isSmbAnswer(bytes: Buffer): boolean {
  const isResponse = bytes.length >= 24 && (bytes.readUInt32LE(20) & 1) === 1;
  return isResponse && bytes.subarray(4, 8).equals(magic) && bytes.readUInt16LE(16) === 0;
}
