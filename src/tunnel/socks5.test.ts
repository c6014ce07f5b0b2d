import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseGreeting, parseName, parseRequest, type Destination, type Parsed } from './socks5.ts';

const port = fc.integer({ min: 1, max: 65_535 });
const portBytes = (number: number): number[] => [number >> 8, number & 0xff];

/** Requests, each with its destination. */
const requests = fc.oneof(
  fc.tuple(fc.ipV4(), port).map(([host, number]) => ({
    destination: { host, port: number },
    bytes: [5, 1, 0, 1, ...host.split('.').map(Number), ...portBytes(number)],
  })),
  fc.tuple(fc.uint8Array({ minLength: 16, maxLength: 16 }), port).map(([address, number]) => ({
    destination: { host: spelled(address), port: number },
    bytes: [5, 1, 0, 4, ...address, ...portBytes(number)],
  })),
  fc.tuple(fc.domain(), port).map(([host, number]) => ({
    destination: { host: host.toLowerCase(), port: number },
    bytes: [5, 1, 0, 3, host.length, ...Buffer.from(host), ...portBytes(number)],
  })),
);

const spelled = (address: Uint8Array): string =>
  new URL(`http://[${Buffer.from(address).toString('hex').match(/.{4}/gu)?.join(':')}]`).hostname.slice(
    1,
    -1,
  );

test('property: each request is read at any split of its bytes, and later bytes stay in the socket', () => {
  fc.assert(
    fc.property(requests, fc.uint8Array(), ({ destination, bytes }, rest) => {
      for (let length = 0; length < bytes.length; length += 1)
        assert.deepEqual(parseRequest(Uint8Array.from(bytes.slice(0, length))), { kind: 'incomplete' });
      const whole: Parsed<Destination> = { kind: 'complete', value: destination, length: bytes.length };
      assert.deepEqual(parseRequest(Uint8Array.from([...bytes, ...rest])), whole);
    }),
  );
});

test('property: no bytes make a parser throw or wait for more than one message', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
      for (const parsed of [parseGreeting(bytes), parseRequest(bytes)]) {
        if (parsed.kind === 'incomplete') assert.ok(bytes.length < 5 + 255 + 2);
        if (parsed.kind === 'complete') assert.ok(parsed.length <= bytes.length);
        if (parsed.kind === 'invalid') assert.equal(parsed.response[0], 5);
      }
    }),
  );
});

test('an unsupported greeting, command or address type is refused with its code', () => {
  const greeting = (...bytes: number[]) => parseGreeting(Uint8Array.from(bytes));
  assert.equal(greeting(5, 2, 2, 0).kind, 'complete');
  for (const wrong of [greeting(4), greeting(5, 1, 2), greeting(5, 0)]) {
    assert.equal(wrong.kind === 'invalid' && wrong.response[1], 0xff);
  }
  const request = (...bytes: number[]) => parseRequest(Uint8Array.from(bytes));
  const code = (parsed: Parsed<Destination>) => parsed.kind === 'invalid' && parsed.response[1];
  assert.equal(code(request(5, 2, 0, 1)), 7);
  assert.equal(code(request(5, 1, 0, 2)), 8);
  assert.equal(code(request(5, 1, 0, 3, 0, 0, 80)), 1);
  assert.equal(code(request(5, 1, 0, 3, 3, 97, 10, 97, 0, 80)), 1);
  assert.equal(code(request(5, 1, 0, 1, 10, 0, 0, 1, 0, 0)), 1);
});

test('a name has one spelling, and an address in brackets is an address', () => {
  assert.equal(parseName('Director.BOSH.svc.'), 'director.bosh.svc');
  assert.equal(parseName('[fd00::1]'), 'fd00::1');
  assert.equal(parseName('-a'), undefined);
  assert.equal(parseName('fe80::1%eth0'), undefined);
});
