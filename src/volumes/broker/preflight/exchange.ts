import { connect } from 'node:net';

/** The first bytes of the response, or why there are none. */
export type ProbeResult = Buffer | 'refused' | 'silent' | 'closed';

/** Enough bytes to recognise the protocol of the server. */
const minResponseBytes = 28;

/**
 * Sends one request over TCP, resolves with the beginning of the response, and closes the connection. Never
 * rejects.
 */
export function probeTcp(options: {
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
