import { text } from 'node:stream/consumers';
import type { Access } from '../access/access.ts';
import { openTransport } from '../client/open-transport.ts';
import { execInPod } from '../client/exec.ts';

// Run by Bun with accesses as JSON on stdin; sends a request of each kind, and prints one JSON line per kind.
const { access, proxied, exec } = JSON.parse(await text(process.stdin)) as Record<string, Access>;
const kinds: Record<string, () => Promise<unknown>> = {
  direct: () => ask(access),
  proxied: () => ask(proxied),
  exec: () => command(exec),
};
for (const [name, send] of Object.entries(kinds)) {
  try {
    await send();
    console.log(JSON.stringify({ name }));
  } catch (error) {
    console.log(JSON.stringify({ name, error: error instanceof Error ? error.message : String(error) }));
  }
}

async function ask(way: Access | undefined): Promise<void> {
  if (way === undefined) throw new Error('no access was given');
  const transport = await openTransport(way);
  try {
    await transport.request({ method: 'POST', path: '/api/v1/pods', body: '{}' });
    for await (const _ of (await transport.stream({ method: 'GET', path: '/watch' })).chunks);
  } finally {
    transport.close();
  }
}

async function command(way: Access | undefined): Promise<void> {
  if (way === undefined) throw new Error('no access was given');
  await execInPod(way, {
    namespace: 'bosh',
    pod: 'vm-1',
    container: 'bosh',
    deadlineMs: 10_000,
    command: ['echo'],
  });
}
