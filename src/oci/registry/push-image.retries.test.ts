import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pushImage } from './push-image.ts';
import { answer, refuse } from './testing/hostile-registry.ts';
import { memoryImage } from './testing/memory-image.ts';
import { assertWhole, layer, chunkOptions, small, subject, faults } from './testing/push-subject.ts';

for (const status of [429, 500, 503] as const) {
  test(`status ${status} is retried with growing delays, and is an error at last`, async (t) => {
    const at = await subject(t);
    faults(
      at,
      4,
      (line) => !line.startsWith('HEAD'),
      (request, response) => {
        request.resume();
        refuse(response, status, 'TOOMANYREQUESTS');
        return true;
      },
    );
    await pushImage(at.client, memoryImage([layer]), chunkOptions);
    assertWhole(at);
    assert.equal(at.pauses.length, 4);

    const failing = await subject(t);
    faults(
      failing,
      Number.POSITIVE_INFINITY,
      () => true,
      (request, response) => {
        request.resume();
        refuse(response, status, 'DENIED', 'come back later');
        return true;
      },
    );
    await assert.rejects(pushImage(failing.client, memoryImage([layer]), chunkOptions), {
      code: 'REGISTRY_BUSY',
      message: new RegExp(`team/stemcell: blob sha256:.*answered ${status}`, 'u'),
    });
    assert.equal(failing.registry.log.length, 6);
    assert.equal(failing.registry.manifests.size, 0);
  });
}

test('Retry-After in seconds and as a date is respected, and more than a minute is an error at once', async (t) => {
  for (const [header, pause] of [
    ['7', 7000],
    [new Date(9000).toUTCString(), 9000],
  ] as const) {
    const at = await subject(t);
    faults(
      at,
      1,
      (line) => line.startsWith('PUT'),
      (request, response) => {
        request.resume();
        answer(response, 429, { 'retry-after': header });
        return true;
      },
    );
    await pushImage(at.client, memoryImage([small]), chunkOptions);
    assert.deepEqual(at.pauses, [pause]);
  }
  const at = await subject(t);
  faults(
    at,
    1,
    () => true,
    (_, response) => {
      answer(response, 429, { 'retry-after': '3600' });
      return true;
    },
  );
  await assert.rejects(pushImage(at.client, memoryImage([small]), chunkOptions), { code: 'REGISTRY_BUSY' });
});

test('bytes that arrived before a connection broke in a chunk are not sent again', async (t) => {
  const at = await subject(t);
  let kept = 0;
  const seen = faults(
    at,
    2,
    (line) => line.startsWith('PATCH'),
    async (request) => {
      const id = /uploads\/([^?]+)/u.exec(request.url ?? '')?.[1] ?? '';
      const previous = at.registry.uploads.get(id) ?? Buffer.alloc(0);
      for await (const chunk of request as AsyncIterable<Buffer>) {
        const part = chunk.subarray(0, 1000);
        kept += part.length;
        at.registry.uploads.set(id, Buffer.concat([previous, part]));
        break;
      }
      request.socket.destroy();
      return true;
    },
  );
  await pushImage(at.client, memoryImage([layer]), chunkOptions);
  assert.equal(seen(), 2);
  assert.ok(kept > 0);
  assertWhole(at);
  assert.equal(at.registry.log.filter((line) => line.startsWith('POST')).length, 2, 'layer and config');
});

test('an upload that the registry has lost starts again, a limited number of times', async (t) => {
  const at = await subject(t);
  const loses = (): void => {
    at.registry.uploads.clear();
  };
  let lostOnce = false;
  at.registry.trouble = (request) => {
    if (request.method === 'PATCH' && at.registry.log.length > 5 && !lostOnce) {
      lostOnce = true;
      loses();
    }
    return undefined;
  };
  await pushImage(at.client, memoryImage([layer]), chunkOptions);
  assert.ok(lostOnce);
  assertWhole(at);

  const forgetful = await subject(t);
  forgetful.registry.trouble = (request) => {
    if (request.method === 'PATCH') forgetful.registry.uploads.clear();
    return undefined;
  };
  await assert.rejects(pushImage(forgetful.client, memoryImage([layer]), chunkOptions), {
    message: /answered 404.*BLOB_UPLOAD_UNKNOWN/u,
  });
  assert.equal(forgetful.registry.log.filter((line) => line.startsWith('POST')).length, 4);
});

test('an upload whose response was lost counts as done', async (t) => {
  const at = await subject(t);
  let cut = 0;
  at.registry.trouble = (request, response) => {
    if (request.method === 'PUT' && (request.url ?? '').includes('/uploads/') && cut === 0) {
      cut += 1;
      response.end = () => {
        request.socket.destroy();
        return response;
      };
    }
    return undefined;
  };
  await pushImage(at.client, memoryImage([layer]), chunkOptions);
  assert.equal(cut, 1);
  assertWhole(at);
  assert.equal(at.registry.log.filter((line) => line.startsWith('POST')).length, 2);
});

test('an unreachable registry is named', async (t) => {
  const at = await subject(t);
  await at.registry.stop();
  await assert.rejects(pushImage(at.client, memoryImage([layer]), chunkOptions), {
    code: 'REGISTRY_UNREACHABLE',
    message: /127\.0\.0\.1:\d+ could not be reached: the connection was refused.*6 tries/u,
  });
});
