import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runBroker } from './cli.ts';

const key = Buffer.alloc(32, 5).toString('base64');

test('an error at the start of a broker names the setting and the remedy, and the broker does not listen', async (t) => {
  const configDirectory = await mkdtemp(join(tmpdir(), 'broker-start-'));
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  t.after(async () => {
    taken.close();
    await rm(configDirectory, { recursive: true });
  });
  const { port } = taken.address() as AddressInfo;
  const [notes, directory] = [join(configDirectory, 'notes.txt'), join(configDirectory, 'directory')];
  await writeFile(notes, 'x'.repeat(5000), { mode: 0o600 });
  await mkdir(directory);
  const good = {
    listen: '127.0.0.1:0',
    username: 'broker',
    password: 'geheim',
    store: { sqlite: join(configDirectory, 'broker.db') },
    encryption_keys: [key],
    volume_id: { key },
  };
  const cases: readonly (readonly [changes: object, says: RegExp])[] = [
    [{ listen: `127.0.0.1:${port}` }, /cannot listen at 127\.0\.0\.1 port \d+ \(EADDRINUSE\); set listen/u],
    [{ listen: '203.0.113.5:9000' }, /\(EADDRNOTAVAIL\); set listen/u],
    [
      { store: { sqlite: directory } },
      /store\.sqlite names a file that cannot be used, .*EISDIR.*name a file/u,
    ],
    [{ store: { sqlite: notes } }, /store\.sqlite .*file is not a database.*restore the file of the broker/u],
    [{ store: { sqlite: join(notes, 'x.db') } }, /store\.sqlite .*(?:ENOTDIR|EEXIST)/u],
    [{ tls: { certificate: notes, private_key: notes } }, /tls\.certificate and tls\.private_key are no/u],
    [{ tls: { certificate: '/none', private_key: notes } }, /tls\.certificate names a file that cannot/u],
  ];
  for (const [changes, says] of cases) {
    const environment = { BROKER_CONFIG: JSON.stringify({ ...good, ...changes }) };
    const out: string[] = [];
    const ports = { environment, out: (text: string) => void out.push(text), isTerminal: false };
    await assert.rejects(
      runBroker([], { ...ports, signal: AbortSignal.abort() }),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'BROKER_CONFIG_INVALID', error.message);
        assert.match(error.message, says);
        return true;
      },
    );
    assert.doesNotMatch(out.join(''), /listening/u);
  }
  const environment = { BROKER_CONFIG: JSON.stringify(good) };
  const ended = await runBroker([], {
    environment,
    out: () => undefined,
    isTerminal: false,
    signal: AbortSignal.abort(),
  });
  assert.equal(ended, 0);
});
