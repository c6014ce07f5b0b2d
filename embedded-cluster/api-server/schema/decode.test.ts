import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { podSchema } from '../kinds/pod/pod-schema.ts';
import { decodeObject } from './decode.ts';

const decode = (value: unknown): unknown => decodeObject(podSchema, value, 'Pod', 'v1');

test('nulls, empty lists and empty maps go; empty objects and zeros stay', () => {
  const pod = {
    metadata: { name: 'a', creationTimestamp: null, labels: {}, finalizers: [] },
    spec: {
      containers: [],
      securityContext: {},
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: 'v', emptyDir: {} }],
    },
    status: {},
  };
  assert.deepEqual(decode(pod), {
    metadata: { name: 'a' },
    spec: { securityContext: {}, terminationGracePeriodSeconds: 0, volumes: [{ name: 'v', emptyDir: {} }] },
    status: {},
  });
});

test('every unknown field is named', () => {
  const pod = { spec: { hostIPC: true, containers: [{ name: 'c', livenessProbe: {} }] }, extra: 1 };
  assert.throws(
    () => decode(pod),
    (error) => {
      assert(isApiError(error, 400, 'BadRequest'));
      const named = [...error.message.matchAll(/unknown field "([^"]+)"/g)].map(([, path]) => path);
      assert.deepEqual(named, ['spec.hostIPC', 'spec.containers[0].livenessProbe', 'extra']);
      return true;
    },
  );
});

test('a field of the wrong type is named with both types', () => {
  assert.throws(
    () => decode({ spec: { hostPID: 'yes' } }),
    /cannot unmarshal string into Go struct field spec\.hostPID of type bool/,
  );
  assert.throws(() => decode({ spec: { containers: {} } }), /spec\.containers of type slice/);
  assert.throws(() => decode({ spec: { terminationGracePeriodSeconds: 1.5 } }), /of type int64/);
});

test('prototype members are no fields', () => {
  assert.throws(() => decode(JSON.parse('{"constructor":{}}')), /unknown field "constructor"/);
  assert.throws(() => decode(JSON.parse('{"__proto__":{}}')), /unknown field "__proto__"/);
});

test('anything at all is decoded or refused with 400, and decoding twice changes nothing', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      try {
        const decoded = decode({ metadata: value, spec: value });
        assert.deepEqual(decode(decoded), decoded);
      } catch (error) {
        assert(isApiError(error, 400), String(error));
      }
    }),
  );
});
