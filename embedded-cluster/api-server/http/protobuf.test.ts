import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { decodeProtobuf } from './protobuf.ts';

const bytes = (number: number, content: Uint8Array): Buffer => {
  const length =
    content.length < 128 ? [content.length] : [(content.length & 0x7f) | 0x80, content.length >> 7];
  return Buffer.concat([Buffer.of(number * 8 + 2, ...length), content]);
};
const text = (number: number, value: string): Buffer => bytes(number, Buffer.from(value));
const envelope = (kind: string, ...fields: Buffer[]): Buffer =>
  Buffer.concat([
    Buffer.from('k8s\0'),
    bytes(1, Buffer.concat([text(1, 'v1'), text(2, kind)])),
    bytes(2, Buffer.concat(fields)),
  ]);

test('a Secret: maps, bytes, flags, and what Go sends for nothing', () => {
  const metadata = bytes(
    1,
    Buffer.concat([
      text(1, 's'),
      text(2, ''),
      bytes(8, Buffer.alloc(0)),
      bytes(11, Buffer.concat([text(1, 'a'), text(2, 'b')])),
    ]),
  );
  const data = (key: string, value: string): Buffer =>
    bytes(2, Buffer.concat([text(1, key), text(2, value)]));
  assert.deepEqual(
    decodeProtobuf(envelope('Secret', metadata, data('k', 'v'), data('l', 'w'), Buffer.of(5 * 8, 1))),
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's', labels: { a: 'b' } },
      data: { k: 'dg==', l: 'dw==' },
      immutable: true,
    },
  );
});

test('DeleteOptions: integers, negative ones too', () => {
  const minusOne = Buffer.of(8, ...Array.from({ length: 9 }, () => 0xff), 1);
  assert.equal(decodeProtobuf(envelope('DeleteOptions', minusOne))['gracePeriodSeconds'], -1);
  assert.equal(decodeProtobuf(envelope('DeleteOptions', Buffer.of(8, 0xac, 2)))['gracePeriodSeconds'], 300);
});

test('a ResourceQuota with scopes is read, so that what is said of it is about its fields', () => {
  const hard = bytes(1, Buffer.concat([text(1, 'pods'), bytes(2, text(1, '1'))]));
  const spec = bytes(2, Buffer.concat([hard, text(2, 'BestEffort'), text(2, 'NotTerminating')]));
  assert.deepEqual(decodeProtobuf(envelope('ResourceQuota', spec))['spec'], {
    hard: { pods: '1' },
    scopes: ['BestEffort', 'NotTerminating'],
  });
});

test('other kinds and fields are 415, garbage is 400', () => {
  assert.throws(
    () => decodeProtobuf(envelope('Pod')),
    (error) => isApiError(error, 415),
  );
  assert.throws(
    () => decodeProtobuf(envelope('constructor')),
    (error) => isApiError(error, 415),
  );
  assert.throws(
    () => decodeProtobuf(envelope('Secret', text(15, 'x'))),
    (error) => isApiError(error, 415),
  );
  assert.throws(
    () => decodeProtobuf(Buffer.from('{}')),
    (error) => isApiError(error, 400),
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (garbage) => {
      try {
        decodeProtobuf(Buffer.concat([Buffer.from('k8s\0'), garbage]));
      } catch (error) {
        assert(isApiError(error, 400) || isApiError(error, 415), String(error));
      }
    }),
  );
});
