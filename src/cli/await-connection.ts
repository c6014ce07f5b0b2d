import { connect } from 'node:net';
import { poll, type PollOptions } from '../deploy/poll.ts';

/**
 * Waits until the host of `url` accepts connections, because monit reports a process as running before it
 * listens. Returns false if the host still refuses connections after the timeout. Returns true for every
 * other outcome, because this machine cannot judge it (another network, another scheme).
 */
export async function awaitConnection(
  url: string,
  options: Omit<PollOptions, 'maxDelayMs'>,
): Promise<boolean> {
  const place = endpointOf(url);
  if (place === undefined) return true;
  const attempt = async (): Promise<true | undefined> => ((await isRefused(place)) ? undefined : true);
  return (await poll(attempt, { ...options, maxDelayMs: 500 })) === true;
}

interface Endpoint {
  readonly host: string;
  readonly port: number;
}

function endpointOf(url: string): Endpoint | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, port } = new URL(url);
  const standard = { 'http:': 80, 'https:': 443 }[protocol];
  if (standard === undefined) return undefined;
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? standard : Number(port) };
}

function isRefused(place: Endpoint): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ ...place, timeout: 2000 });
    const end = (refused: boolean): void => {
      socket.destroy();
      resolve(refused);
    };
    socket.once('connect', () => end(false));
    socket.once('timeout', () => end(false));
    socket.once('error', (error: NodeJS.ErrnoException) => end(error.code === 'ECONNREFUSED'));
  });
}
