import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { formatTable } from '../../src/cli/output/table.ts';
import { credhubStub, uaaClient } from '../../src/volumes/credhub/testing/credhub-stub.ts';
import { noPostgres, postgresServer } from '../../src/volumes/broker/testing/postgres-server.ts';
import { auth } from '../../src/volumes/broker/testing/test-broker.ts';
import { startChildServer } from './child-server.ts';
import { bound, life, lifeRequests, rate, send } from './load.ts';

/**
 * Measures the requests per second of the volume broker on each store: complete lifecycles of bindings at 1,
 * 8 and 32 clients, a repeated bind, the catalog compared with a bare Node server that returns the same
 * bytes, and memory compared with an idle Node process. The broker is the bundle in its own process; clients
 * and the stub of CredHub share this process. `npm run bench:broker [-- --seconds N]`
 */
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '3' } } });
const seconds = Number(values.seconds);
const clients = [1, 8, 32] as const;
const root = join(import.meta.dirname, '../..');
const directory = await mkdtemp(join(tmpdir(), 'broker-bench-'));
const rows: string[][] = [];
const ratios: string[] = [];

async function withBroker(store: object, work: (url: string) => Promise<void>): Promise<void> {
  const key = randomBytes(32).toString('base64');
  const settings = {
    listen: '127.0.0.1:0',
    username: auth.username,
    password: auth.passwords[0],
    store,
    volume_id: { key },
    ...('credhub' in store ? {} : { encryption_keys: [key] }),
  };
  const path = join(directory, 'broker.yml');
  await writeFile(path, JSON.stringify(settings), { mode: 0o600 });
  const broker = await startChildServer([join(root, 'dist/volumes/broker.mjs'), '--config', path]);
  try {
    const idle = await broker.memory();
    await work(broker.url);
    const loaded = await broker.memory();
    ratios.push(
      `memory on ${Object.keys(store)[0]}: ${idle.toFixed(0)} MiB idle, ${loaded.toFixed(0)} after its load`,
    );
  } finally {
    await broker.stop();
  }
}

async function lives(name: string, url: string): Promise<number[]> {
  const rates: number[] = [];
  await life(url);
  for (const count of clients)
    rates.push(await rate(count, { seconds, requests: lifeRequests }, () => life(url)));
  const again = await rate(8, { seconds, requests: 1 }, await bound(url));
  rows.push([name, ...[...rates, again].map((each) => each.toFixed(0))]);
  return rates;
}

async function onCredhub(): Promise<void> {
  const stub = await credhubStub();
  try {
    const ca = join(directory, 'ca.pem');
    await writeFile(ca, stub.ca);
    const uaa = { client_id: uaaClient.id, client_secret: uaaClient.secret };
    const store = { credhub: { url: stub.url, store_id: 'bench', ca, uaa } };
    await withBroker(store, async (url) => {
      for (const ms of [0, 10, 50]) {
        stub.before = ms === 0 ? () => undefined : () => delay(ms);
        const [one = 0, , many = 0] = await lives(`CredHub, ${ms} ms`, url);
        if (ms === 10)
          ratios.push(
            `32 clients over 1, CredHub at 10 ms: ${(many / one).toFixed(1)} (target 8; the old brokers 1)`,
          );
      }
    });
  } finally {
    await stub.stop();
  }
}

async function catalog(url: string): Promise<void> {
  const body = join(directory, 'catalog.json');
  await writeFile(body, await send('GET', `${url}/v2/catalog`));
  const bareServer = join(import.meta.dirname, 'bare-server.ts');
  const bare = await startChildServer([bareServer, body]);
  try {
    const measured = { ours: 0, bare: 0 };
    // in turn, because the speed of the machine varies
    for (let round = 0; round < 3; round += 1) {
      measured.bare +=
        (await rate(8, { seconds: seconds / 3, requests: 1 }, () => send('GET', bare.url))) / 3;
      const ours = (): Promise<unknown> => send('GET', `${url}/v2/catalog`);
      measured.ours += (await rate(8, { seconds: seconds / 3, requests: 1 }, ours)) / 3;
    }
    const ratio = (measured.ours / measured.bare).toFixed(2);
    ratios.push(
      `catalog: ${measured.ours.toFixed(0)} in a second, a bare Node ${measured.bare.toFixed(0)}: ${ratio}`,
    );
  } finally {
    await bare.stop();
  }
  const idle = await startChildServer([bareServer]);
  ratios.push(`memory of an idle Node that listens: ${(await idle.memory()).toFixed(0)} MiB`);
  await idle.stop();
}

async function onPostgres(): Promise<void> {
  const server = await postgresServer();
  try {
    await withBroker({ postgresql: server.access }, async (url) => void (await lives('PostgreSQL', url)));
  } finally {
    await server.remove();
  }
}

try {
  await withBroker({ sqlite: join(directory, 'store', 'broker.db') }, async (url) => {
    await catalog(url);
    await lives('SQLite', url);
  });
  if (noPostgres === false) await onPostgres();
  else ratios.push(`PostgreSQL was not measured: ${noPostgres}`);
  await onCredhub();
  const titles = ['requests in a second', ...clients.map((count) => `${count} clients`), 'bind repeated, 8'];
  process.stdout.write(`${formatTable(titles, rows)}\n\n${ratios.join('\n')}\n`);
} finally {
  await rm(directory, { recursive: true });
}
