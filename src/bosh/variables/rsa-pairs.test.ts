import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { fromValue } from '../yaml/yaml-node.ts';
import { expectedBits } from './generate-value.ts';
import { type RsaPair, RsaPairs } from './rsa-pairs.ts';

/** Records what it has been called with. The test resolves each call. */
function slowMaker() {
  const requests: { bits: number; pair: RsaPair; done: PromiseWithResolvers<RsaPair> }[] = [];
  const make = (bits: number): Promise<RsaPair> => {
    const done = Promise.withResolvers<RsaPair>();
    requests.push({ bits, pair: generateKeyPairSync('rsa', { modulusLength: 1024 }), done });
    return done.promise;
  };
  return { requests, make, bitsAsked: () => requests.map(({ bits }) => bits) };
}

test('the expected pairs are generated two at a time in advance, and each is used once', async () => {
  const { requests: asked, make, bitsAsked } = slowMaker();
  const pairs = new RsaPairs(make);
  pairs.prepare([3072, 2048, 3072, 3072]);
  assert.deepEqual(bitsAsked(), [3072, 2048]);
  const [first, second] = [pairs.take(3072), pairs.take(3072)];
  // The second one has not been started, so it is not waited for.
  assert.deepEqual(bitsAsked(), [3072, 2048, 3072]);
  for (const { done, pair } of asked) done.resolve(pair);
  assert.equal(await first, asked[0]?.pair);
  assert.equal(await second, asked[2]?.pair);
  assert.equal(await pairs.take(2048), asked[1]?.pair);
  assert.deepEqual(bitsAsked(), [3072, 2048, 3072, 3072]);
});

test('a pair that was not expected is generated on request', async () => {
  const { requests: asked, make } = slowMaker();
  const taken = new RsaPairs(make).take(4096);
  asked[0]?.done.resolve(asked[0].pair);
  assert.equal(await taken, asked[0]?.pair);
});

test('a failure is reported only to the taker of the pair', async () => {
  const pairs = new RsaPairs(() => Promise.reject(new Error('no randomness')));
  pairs.prepare([3072, 3072]);
  await assert.rejects(pairs.take(3072), /no randomness/u);
});

test('definitions announce the pairs that they will take, if their options are valid', () => {
  const position = { file: 'm.yml', line: 1, column: 1 };
  const certificate = (options: unknown) => ({
    ...{ name: 'c', type: 'certificate', options: fromValue(options, position) },
  });
  const definitions = [
    { name: 'a', type: 'certificate' },
    certificate({ key_length: 4096 }),
    ...[100, '3072', '((bits))', {}].map((length) => certificate({ key_length: length })),
    ...['ssh', 'rsa', 'password', 'unknown'].map((type) => ({ name: type, type })),
  ];
  assert.deepEqual(expectedBits(definitions), [3072, 4096, 2048, 2048]);
});
