import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../testing/test-server.ts';

const resources = { requests: { storage: '1Gi' }, limits: { storage: '2Gi' } };
const claimTemplate = { spec: { accessModes: ['ReadWriteOnce'], resources } };

test('what a real server would act on is refused also where the client says Ignore', async (t) => {
  const server = await startTestServer(t);
  const create = (collection: string, body: unknown): ReturnType<typeof server.call> =>
    server.call(`${collection}?fieldValidation=Ignore`, { method: 'POST', body });
  const pod = (volume: unknown): ReturnType<typeof server.call> =>
    create('/api/v1/namespaces/default/pods', {
      metadata: { name: 'a' },
      spec: { containers: [{ name: 'c', image: 'x' }], volumes: [{ name: 'v', ...Object(volume) }] },
    });
  const downward = { path: 'cpu', resourceFieldRef: { resource: 'limits.cpu' } };
  for (const [answer, field] of [
    [
      await pod({ ephemeral: { volumeClaimTemplate: claimTemplate } }),
      'ephemeral.volumeClaimTemplate.spec.resources.limits',
    ],
    [await pod({ projected: { sources: [{ podCertificate: {} }] } }), 'projected.sources[0].podCertificate'],
    [
      await pod({ projected: { sources: [{ downwardAPI: { items: [downward] } }] } }),
      'projected.sources[0].downwardAPI.items[0].resourceFieldRef',
    ],
    [
      await create('/api/v1/persistentvolumes', {
        metadata: { name: 'a' },
        spec: { csi: { driver: 'd', volumeHandle: 'h', nodePublishSecretRef: { name: 's' } } },
      }),
      'spec.csi.nodePublishSecretRef',
    ],
  ] as const) {
    assert.equal(answer.code, 400, answer.text);
    assert(answer.text.includes(`${field}\\"`), answer.text);
  }
});

test('a typing error in the same place is dropped in silence there', async (t) => {
  const server = await startTestServer(t);
  const answer = await server.call(
    '/api/v1/namespaces/default/persistentvolumeclaims?fieldValidation=Ignore',
    {
      method: 'POST',
      body: {
        metadata: { name: 'a' },
        spec: {
          ...claimTemplate.spec,
          resources: { requests: { storage: '1Gi' }, nonsense: 1 },
          nonsense: 1,
        },
      },
    },
  );
  assert.equal(answer.code, 201, answer.text);
  assert.deepEqual([answer.headers['warning'], answer.text.includes('nonsense')], [undefined, false]);
});
