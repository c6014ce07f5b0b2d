import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { parseListeners, readListeners, assertAddressFree } from './check-address-free.ts';

const manifestAt = (address: string, ports: { readonly mbus: number; readonly url: number }) =>
  ({
    instanceGroup: { name: 'hello', networks: [{ staticIps: [address] }] },
    cloudProvider: { mbus: `https://mbus:s3cret@${address}:${ports.mbus}` },
    tags: { url: `http://${address}:${ports.url}/` },
  }) as unknown as Parameters<typeof assertAddressFree>[0];

async function listen(t: TestContext, host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

test('an address on which something listens is refused, by name', async (t) => {
  const port = await listen(t, '127.64.213.7');
  const check = { listeners: await readListeners(), restorable: undefined };

  assert.throws(
    () => assertAddressFree(manifestAt('127.64.213.7', { mbus: 1, url: 2 }), check),
    (error: Error & { readonly code?: string }) => {
      assert.equal(error.code, 'ADDRESS_TAKEN');
      assert.match(
        error.message,
        new RegExp(`'hello' is in use: .* listens on 127\\.64\\.213\\.7:${port} \\('ss -ltnp'`, 'u'),
      );
      assert.match(error.message, /Stop that process, or replace the address .* from the vars store/u);
      assert.doesNotMatch(error.message, /state restore/u);
      assert.doesNotMatch(error.message, /s3cret/u);
      return true;
    },
  );
  assert.doesNotThrow(() => assertAddressFree(manifestAt('127.64.213.8', { mbus: 1, url: 2 }), check));
});

test('the address of a VM whose state file may be lost leads to state restore of that manifest', () => {
  const check = { listeners: ['127.64.0.10:8080'], restorable: '/my files/manifest.yml' } as const;
  assert.throws(() => assertAddressFree(manifestAt('127.64.0.10', { mbus: 1, url: 2 }), check), {
    message: /run: bosh-kubernetes state restore '\/my files\/manifest\.yml'\. Otherwise: stop that process/u,
  });
});

test('a port of the agent or of the URL with a listener on all addresses is refused, by name', async (t) => {
  for (const host of ['0.0.0.0', '::']) {
    const port = await listen(t, host);
    const check = { listeners: await readListeners(), restorable: '/manifest.yml' };
    for (const ports of [
      { mbus: port, url: 2 },
      { mbus: 1, url: port },
    ])
      assert.throws(() => assertAddressFree(manifestAt('127.64.213.8', ports), check), {
        code: 'ADDRESS_TAKEN',
        message: /Stop that process, or use another port/u,
      });
  }
});

test('a connected socket, or a listener on another IPv6 address, does not count as a listener', () => {
  const text = [
    '  sl  local_address rem_address   st tx_queue',
    '   0: 0A00407F:1AD4 00000000:0000 0A 00000000:00000000',
    '   1: 0B00407F:1AD4 0100007F:9C40 01 00000000:00000000',
    '   2: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A',
    '',
  ].join('\n');
  assert.deepEqual(parseListeners([text]), ['127.64.0.10:6868']);
});
