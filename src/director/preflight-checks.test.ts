import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../kubernetes/types/service.ts';
import { freeClusterIp } from './preflight-checks.ts';

const service = (name: string, clusterIP: string): Service => ({
  ...{ apiVersion: 'v1', kind: 'Service', metadata: { namespace: 'default', name }, spec: { clusterIP } },
});
const first = service('kubernetes', '10.96.0.1');

test('the proposed address is among the 16 that a range of /24 or smaller gives to requests first', () => {
  assert.equal(freeClusterIp([first]), '10.96.0.11');
  assert.equal(freeClusterIp([service('kubernetes', '10.96.0.17')]), '10.96.0.27');
});

test('an address of a Service is not proposed, and none is proposed if the Services are not known', () => {
  const taken = [11, 12].map((last) => service(`other-${last}`, `10.96.0.${last}`));
  assert.equal(freeClusterIp([first, ...taken]), '10.96.0.13');
  assert.equal(freeClusterIp([service('web', '10.96.0.5')]), undefined);
  assert.equal(freeClusterIp(undefined), undefined);
});
