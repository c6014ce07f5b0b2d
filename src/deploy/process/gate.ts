import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../clock.ts';

const gateDeadline = 5000;

/**
 * Makes looking at a stale lock and replacing it one step among several runs. The kernel drops an abstract socket with
 * its process, so a run killed in between bars nobody. Linux only; elsewhere two runs that meet the same stale lock in the
 * same millisecond are not told apart.
 */
export async function openGate(path: string, clock: Clock): Promise<Server | undefined> {
  if (process.platform !== 'linux') return undefined;
  const name = `\0bosh-kubernetes-${createHash('sha256').update(path).digest('hex')}`;
  const end = clock.now().getTime() + gateDeadline;
  for (;;) {
    const gate = await listen(name);
    if (gate !== undefined) return gate;
    if (clock.now().getTime() > end) {
      throw new ProductError(
        'DEPLOYMENT_LOCKED',
        `Another run holds on to lock '${path}' without ever taking it; try again`,
      );
    }
    await clock.sleep(20);
  }
}

async function listen(name: string): Promise<Server | undefined> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    );
    server.listen({ path: name }, () => resolve(server));
  });
}

export async function closeGate(gate: Server | undefined): Promise<void> {
  if (gate === undefined) return;
  await new Promise((resolve) => gate.close(resolve));
}
