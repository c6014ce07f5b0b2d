import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ErrorCode } from '../../../errors/error-table.ts';
import { isProductError } from '../../../errors/product-error.ts';
import { ApiError, isApiError } from '../../../kubernetes/client/api-error.ts';
import { explainApiError } from '../../errors/explain-api-error.ts';
import { annotation } from '../../objects/labels.ts';
import { boundDisk, claimOf, diskObjects } from '../../testing/bound-disk.ts';
import { interceptingApi } from '../../testing/intercepting-api.ts';
import { storageCloud } from '../../testing/storage-cloud.ts';
import { updateDisk } from '../update-disk.ts';

const words = 'pods "bind-x" is forbidden: ';
/** The responses of API servers that refuse a pod, and the outcome of update_disk. */
const refusals: readonly (readonly [string, number, string, ErrorCode, RegExp])[] = [
  [
    'Pod Security',
    403,
    `${words}violates PodSecurity "restricted:latest": runAsNonRoot`,
    'NOT_SUPPORTED',
    /violates PodSecurity/u,
  ],
  [
    'a limit range',
    403,
    `${words}minimum cpu usage per Container is 100m, but request is 1m`,
    'NOT_SUPPORTED',
    /minimum cpu usage/u,
  ],
  [
    'a webhook',
    400,
    'admission webhook "policy.example" denied the request: no pause images',
    'NOT_SUPPORTED',
    /no pause images/u,
  ],
  [
    'a policy',
    422,
    `${words}ValidatingAdmissionPolicy 'images' with binding 'all' denied request: no pause images`,
    'NOT_SUPPORTED',
    /no pause images/u,
  ],
  [
    'a quota',
    403,
    `${words}exceeded quota: few, requested: pods=1, used: pods=9, limited: pods=9`,
    'QUOTA_EXCEEDED',
    /raise ResourceQuota few/u,
  ],
  [
    'a role',
    403,
    'pods is forbidden: User "bosh" cannot create resource "pods" in API group "" in the namespace "bosh"',
    'KUBERNETES_FORBIDDEN',
    /lacks the verb "create" on "pods"/u,
  ],
  [
    'a namespace that goes',
    403,
    `${words}unable to create new content in namespace bosh because it is being terminated`,
    'KUBERNETES_FORBIDDEN',
    /wait until the namespace is deleted/u,
  ],
];

for (const [who, code, message, expected, said] of refusals) {
  test(`${who} refuses the pod that binds a copy: ${expected}, and the disk is as before`, async (t) => {
    const world = await storageCloud(t);
    const disk = await boundDisk(world);
    const reason = code === 403 ? 'Forbidden' : 'Invalid';
    const refused = new ApiError({
      ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', reason, code, message },
    });
    const api = interceptingApi(world.api, (request) =>
      request.startsWith('create pods bind-') ? Promise.reject(refused) : Promise.resolve(),
    );
    const updating = updateDisk(
      { ...world.cloud, api },
      { diskCid: disk, sizeMiB: 64, cloudProperties: { storage_class: 'later' } },
    );
    await assert.rejects(updating, (error: unknown) => {
      const answered = isApiError(error) ? explainApiError(error) : error;
      assert.ok(isProductError(answered, expected), String(answered));
      assert.match(answered.message, said);
      return true;
    });
    assert.deepEqual(await diskObjects(world), [disk]);
    assert.equal((await claimOf(world, disk)).metadata.annotations?.[annotation.replacement], undefined);
  });
}
