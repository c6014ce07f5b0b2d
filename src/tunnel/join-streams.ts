import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from './client-owner.ts';
import { unsentBytes } from './unsent-bytes.ts';

const pauseMs = 20;
/** A client that takes nothing for so long gets no more. */
const patienceMs = 15_000;

/**
 * Until both have ended, each direction by itself; what fails breaks the connection, so that the client takes
 * it for no end, once the client has what came before. Resolves with what failed on the way to the cluster: a
 * client that goes away breaks its own connection alone.
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
    if (failure !== undefined && !client.destroyed) await delivered(client, connection);
    client.resetAndDestroy();
    // a server answers the end of a client that has what it wanted by a reset, as TLS has it
    return hasClientEnded && isReset(failure) ? undefined : failure;
  } finally {
    if (!(remote instanceof Socket)) remote.destroy();
  }
}

const isReset = (error: Error | undefined): boolean =>
  error !== undefined && 'code' in error && ['ECONNRESET', 'EPIPE'].includes(String(error.code));

/** A reset drops what this process or its system still has for the client. */
async function delivered(client: Socket, connection: Connection): Promise<void> {
  let former = Number.POSITIVE_INFINITY;
  for (let since = Date.now(); Date.now() - since < patienceMs && !client.destroyed; await sleep(pauseMs)) {
    const unsent = client.writableLength + (await unsentOf(connection));
    if (unsent === 0) return;
    if (unsent < former) since = Date.now();
    former = unsent;
  }
}

/** Other systems than Linux do not tell. */
const unsentOf = async (connection: Connection): Promise<number> =>
  process.platform === 'linux' ? ((await unsentBytes(connection)) ?? 0) : 0;
