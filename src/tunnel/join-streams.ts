import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Connection, readUnsentBytes } from './client-owner.ts';

const pauseMs = 20;
/** Milliseconds after which a client that accepts no data is given up. */
const timeoutMs = 15_000;

/**
 * Pipes both directions until both have ended. On a failure resets the client's connection, after the client
 * has received earlier data, so that the client does not take the failure for a regular end. Returns the
 * failure of the connection to the cluster; a client that disconnects is not a failure.
 */
export async function joinStreams(
  client: Socket,
  remote: Duplex,
  connection: Connection,
): Promise<Error | undefined> {
  remote.on('error', () => undefined);
  client.on('close', () => remote.destroy());
  client.pipe(remote);
  remote.pipe(client);
  try {
    await finished(remote, { writable: false });
    // a forwarded port has one end for both directions
    if (remote instanceof Socket) await finished(client, { writable: false });
    client.destroySoon();
    return undefined;
  } catch {
    const failure = remote.errored ?? undefined;
    const hasClientEnded = client.readableEnded || client.destroyed;
    if (failure !== undefined && !client.destroyed) await waitForDelivery(client, connection);
    client.resetAndDestroy();
    // a server may respond with a reset when a client with a complete response ends the connection, as in TLS
    return hasClientEnded && isReset(failure) ? undefined : failure;
  } finally {
    if (!(remote instanceof Socket)) remote.destroy();
  }
}

const isReset = (error: Error | undefined): boolean =>
  error !== undefined && 'code' in error && ['ECONNRESET', 'EPIPE'].includes(String(error.code));

/**
 * Waits until the client has received the data that is still buffered in this process and its system: a reset
 * would drop it.
 */
async function waitForDelivery(client: Socket, connection: Connection): Promise<void> {
  let previous = Number.POSITIVE_INFINITY;
  for (let since = Date.now(); Date.now() - since < timeoutMs && !client.destroyed; await sleep(pauseMs)) {
    const unsent = client.writableLength + (await readUnsent(connection));
    if (unsent === 0) return;
    if (unsent < previous) since = Date.now();
    previous = unsent;
  }
}

/**
 * Returns the bytes that the peer has not received yet. Returns 0 on systems other than Linux, which do not
 * show this number.
 */
const readUnsent = async (connection: Connection): Promise<number> =>
  process.platform === 'linux' ? ((await readUnsentBytes(connection)) ?? 0) : 0;
