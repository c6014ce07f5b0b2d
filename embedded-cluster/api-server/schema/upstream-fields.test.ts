import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { podSchema } from '../kinds/pod/pod-schema.ts';
import { decodeObject } from './decode.ts';
import { isUpstreamField } from './upstream-fields.ts';

test("fields of Kubernetes' own are told from typing errors", () => {
  assert(isUpstreamField('Pod', 'spec.containers[3].livenessProbe'));
  assert(isUpstreamField('Pod', 'spec.hostIPC'));
  assert(isUpstreamField('StorageClass', 'mountOptions'));
  assert(!isUpstreamField('Pod', 'spec.containers[3].livenesProbe'));
  assert(!isUpstreamField('Pod', 'spec.livenessProbe'));
  assert(!isUpstreamField('ConfigMap', 'nonsense'));
  assert(isUpstreamField('NoKindThatIsDescribed', 'anything'));
});

test('what a real server would act on is refused under every directive', () => {
  const pod = { spec: { containers: [{ name: 'c', image: 'x', livenessProbe: {}, nonsense: 1 }] } };
  for (const directive of ['Warn', 'Ignore'] as const) {
    const warnings: string[] = [];
    const validation = { directive, duplicates: [], warn: (text: string) => void warnings.push(text) };
    assert.throws(
      () => decodeObject(podSchema, pod, 'Pod', 'v1', validation),
      (error) =>
        isApiError(error, 400) &&
        error.message.includes('unknown field "spec.containers[0].livenessProbe"') &&
        !error.message.includes('nonsense'),
    );
    assert.deepEqual(warnings, []);
  }
});
