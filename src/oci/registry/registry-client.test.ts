import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { RegistryCredentials } from './access/credentials.ts';
import { NodeTransport } from './http/node-transport.ts';
import { deleteManifest, getManifest } from './manifests/manifests.ts';
import type { PushImageOptions } from './push-image.ts';
import { pushImage } from './push-image.ts';
import { RegistryClient } from './registry-client.ts';
import { answer, HostileRegistry, refuse } from './testing/hostile-registry.ts';
import { memoryImage } from './testing/memory-image.ts';

const layer = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 251));
const small = Buffer.from('small');
const pieces: PushImageOptions = { pieceSize: 16_000 };

interface Subject {
  readonly registry: HostileRegistry;
  readonly client: RegistryClient;
  /** Milliseconds that were waited. */
  readonly pauses: number[];
}

async function subject(t: TestContext, credentials?: RegistryCredentials): Promise<Subject> {
  const registry = await HostileRegistry.start(t);
  const pauses: number[] = [];
  const client = new RegistryClient({
    origin: registry.origin,
    repository: 'team/stemcell',
    credentials,
    transport: new NodeTransport({ ca: undefined, idleMs: 60_000, signal: undefined }),
    now: () => 0,
    sleep: async (milliseconds) => {
      pauses.push(milliseconds);
    },
    random: () => 0,
  });
  t.after(() => client.close());
  return { registry, client, pauses };
}

/** Lets something go wrong the first `times` times that `fits`. */
function troubles(
  { registry }: Subject,
  times: number,
  fits: (line: string) => boolean,
  what: HostileRegistry['trouble'],
): () => number {
  let count = 0;
  registry.trouble = (request, response) => {
    if (count >= times || !fits(`${request.method ?? ''} ${request.url ?? ''}`)) return undefined;
    count += 1;
    return what(request, response) ?? true;
  };
  return () => count;
}

function assertWhole({ registry }: Subject, image = memoryImage([layer])): void {
  for (const blob of [...image.layers, image.config])
    assert.equal(registry.blobs.get(blob.digest)?.length, blob.size);
  assert.deepEqual(registry.manifests.get(image.descriptor.digest), image.manifest);
  assert.equal(registry.uploads.size, 0, 'no upload is left');
}

describe('push', () => {
  test('in pieces and whole, the manifest last; the same again sends no blob', async (t) => {
    const at = await subject(t);
    const image = memoryImage([layer, small, layer]);
    const first: string[] = [];
    const digest = await pushImage(at.client, image, {
      ...pieces,
      onBlob: (_, how) => first.push(how),
    });
    assert.equal(digest, image.descriptor.digest);
    assertWhole(at, image);
    assert.deepEqual(first, ['uploaded', 'uploaded', 'uploaded']);
    const methods = at.registry.log.map((line) => line.split(' ')[0]);
    assert.equal(methods.filter((method) => method === 'PATCH').length, 7);
    assert.match(at.registry.log.at(-1) ?? '', /^PUT .*manifests/u);
    assert.deepEqual(await getManifest(at.client, digest), image.manifest);

    const again: string[] = [];
    await pushImage(at.client, image, { ...pieces, tag: 'v1', onBlob: (_, how) => again.push(how) });
    assert.deepEqual(again, ['present', 'present', 'present']);
    assert.ok(at.registry.manifests.has('v1'));
  });

  test('a layer of another repository is mounted, and uploaded where that does not have it', async (t) => {
    const at = await subject(t);
    const image = memoryImage([layer]);
    await pushImage(at.client, image, pieces);
    at.registry.owners.set(image.layers[0]?.digest ?? '', new Set(['other/one']));
    const how: string[] = [];
    await pushImage(at.client, image, {
      ...pieces,
      mountFrom: ['other/none', 'other/one'],
      onBlob: (_, pushed) => how.push(pushed),
    });
    assert.deepEqual(how, ['mounted', 'present']);
    assert.equal(at.registry.uploads.size, 0);
  });

  test('a registry that takes no pieces gets the blob whole', async (t) => {
    const at = await subject(t);
    at.registry.takesPieces = false;
    await pushImage(at.client, memoryImage([layer]), pieces);
    for (const digest of memoryImage([layer]).layers.map((blob) => blob.digest))
      assert.equal(at.registry.blobs.get(digest)?.length, layer.length);
  });

  for (const status of [429, 500, 503] as const) {
    test(`${status} is tried again, each time a little later, and at last an error`, async (t) => {
      const at = await subject(t);
      troubles(
        at,
        4,
        (line) => !line.startsWith('HEAD'),
        (request, response) => {
          request.resume();
          refuse(response, status, 'TOOMANYREQUESTS');
          return true;
        },
      );
      await pushImage(at.client, memoryImage([layer]), pieces);
      assertWhole(at);
      assert.equal(at.pauses.length, 4);

      const failing = await subject(t);
      troubles(
        failing,
        Number.POSITIVE_INFINITY,
        () => true,
        (request, response) => {
          request.resume();
          refuse(response, status, 'DENIED', 'come back later');
          return true;
        },
      );
      await assert.rejects(pushImage(failing.client, memoryImage([layer]), pieces), {
        code: 'REGISTRY_BUSY',
        message: new RegExp(`team/stemcell: blob sha256:.*answered ${status}`, 'u'),
      });
      assert.equal(failing.registry.log.length, 6);
      assert.equal(failing.registry.manifests.size, 0);
    });
  }

  test('Retry-After is kept, in seconds and as a date; more than a minute is an error at once', async (t) => {
    for (const [header, pause] of [
      ['7', 7000],
      [new Date(9000).toUTCString(), 9000],
    ] as const) {
      const at = await subject(t);
      troubles(
        at,
        1,
        (line) => line.startsWith('PUT'),
        (request, response) => {
          request.resume();
          answer(response, 429, { 'retry-after': header });
          return true;
        },
      );
      await pushImage(at.client, memoryImage([small]), pieces);
      assert.deepEqual(at.pauses, [pause]);
    }
    const at = await subject(t);
    troubles(
      at,
      1,
      () => true,
      (_, response) => {
        answer(response, 429, { 'retry-after': '3600' });
        return true;
      },
    );
    await assert.rejects(pushImage(at.client, memoryImage([small]), pieces), { code: 'REGISTRY_BUSY' });
  });

  test('a connection that ends in the middle of a piece: what arrived is not sent again', async (t) => {
    const at = await subject(t);
    let kept = 0;
    const seen = troubles(
      at,
      2,
      (line) => line.startsWith('PATCH'),
      async (request) => {
        const id = /uploads\/([^?]+)/u.exec(request.url ?? '')?.[1] ?? '';
        const former = at.registry.uploads.get(id) ?? Buffer.alloc(0);
        for await (const chunk of request as AsyncIterable<Buffer>) {
          const part = chunk.subarray(0, 1000);
          kept += part.length;
          at.registry.uploads.set(id, Buffer.concat([former, part]));
          break;
        }
        request.socket.destroy();
        return true;
      },
    );
    await pushImage(at.client, memoryImage([layer]), pieces);
    assert.equal(seen(), 2);
    assert.ok(kept > 0);
    assertWhole(at);
    assert.equal(at.registry.log.filter((line) => line.startsWith('POST')).length, 2, 'layer and config');
  });

  test('an upload that the registry has lost begins again, a bounded number of times', async (t) => {
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
    await pushImage(at.client, memoryImage([layer]), pieces);
    assert.ok(lostOnce);
    assertWhole(at);

    const forgetful = await subject(t);
    forgetful.registry.trouble = (request) => {
      if (request.method === 'PATCH') forgetful.registry.uploads.clear();
      return undefined;
    };
    await assert.rejects(pushImage(forgetful.client, memoryImage([layer]), pieces), {
      message: /answered 404.*BLOB_UPLOAD_UNKNOWN/u,
    });
    assert.equal(forgetful.registry.log.filter((line) => line.startsWith('POST')).length, 4);
  });

  test('an upload whose answer got lost counts as done', async (t) => {
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
    await pushImage(at.client, memoryImage([layer]), pieces);
    assert.equal(cut, 1);
    assertWhole(at);
    assert.equal(at.registry.log.filter((line) => line.startsWith('POST')).length, 2);
  });

  test('a registry that is not there is named', async (t) => {
    const at = await subject(t);
    await at.registry.stop();
    await assert.rejects(pushImage(at.client, memoryImage([layer]), pieces), {
      code: 'REGISTRY_UNREACHABLE',
      message: /127\.0\.0\.1:\d+ could not be reached: the connection was refused.*6 tries/u,
    });
  });

  for (const [how, pieceSize] of [
    ['in pieces', 16_000],
    ['whole', 1_000_000],
  ] as const) {
    test(`damaged bytes, ${how}: nothing is published, and the upload is taken back`, async (t) => {
      const at = await subject(t);
      const damaged = Buffer.from(layer).fill(7, 99_000);
      await assert.rejects(pushImage(at.client, memoryImage([layer], damaged), { pieceSize }), {
        code: 'DIGEST_MISMATCH',
      });
      assert.equal(at.registry.blobs.size, 0);
      assert.equal(at.registry.manifests.size, 0);
      assert.equal(at.registry.uploads.size, 0);
    });
  }

  test('what cannot be taken back, or mounted, neither hides the reason nor ends the push', async (t) => {
    const at = await subject(t);
    const refused: string[] = [];
    at.registry.trouble = (request, response) => {
      const url = request.url ?? '';
      if (request.method !== 'DELETE' && !url.includes('from=secret')) return undefined;
      refused.push(request.method ?? '');
      request.resume();
      refuse(response, 401, 'UNAUTHORIZED');
      return true;
    };
    const damaged = Buffer.from(layer).fill(7, 99_000);
    await assert.rejects(pushImage(at.client, memoryImage([layer], damaged), pieces), {
      code: 'DIGEST_MISMATCH',
    });
    await pushImage(at.client, memoryImage([layer]), { ...pieces, mountFrom: ['none', 'secret', 'none-2'] });
    assert.deepEqual(at.registry.blobs.get(memoryImage([layer]).layers[0]?.digest ?? ''), layer);
    assert.deepEqual(refused, ['DELETE', ...['POST', 'DELETE'], ...['POST', 'DELETE']]);
  });

  test('a registry that receives or stores other bytes is told from a good one', async (t) => {
    const at = await subject(t);
    at.registry.trouble = (request, response) => {
      if (request.method !== 'PUT' || !(request.url ?? '').includes('manifests')) return undefined;
      request.resume();
      answer(response, 201, { 'docker-content-digest': `sha256:${'0'.repeat(64)}` });
      return true;
    };
    await assert.rejects(pushImage(at.client, memoryImage([small]), pieces), { code: 'DIGEST_MISMATCH' });

    const changing = await subject(t);
    changing.registry.trouble = (request, response) => {
      if (request.method !== 'PUT') return undefined;
      request.resume();
      refuse(response, 400, 'DIGEST_INVALID');
      return true;
    };
    await assert.rejects(pushImage(changing.client, memoryImage([small]), pieces), {
      code: 'DIGEST_MISMATCH',
      message: /something on the way changes bytes/u,
    });
  });

  test('errors hold nothing of the query of a location', async (t) => {
    const at = await subject(t);
    troubles(
      at,
      1,
      (line) => line.startsWith('PATCH'),
      (request, response) => {
        request.resume();
        refuse(response, 403, 'DENIED', 'no');
        return true;
      },
    );
    await assert.rejects(pushImage(at.client, memoryImage([layer]), pieces), (error: Error) => {
      assert.doesNotMatch(error.message, /secret-state|state=/u);
      return true;
    });
  });
});

describe('authentication', () => {
  const credentials = { username: 'robot', password: 'pass-word' };
  const basic = `Basic ${Buffer.from('robot:pass-word').toString('base64')}`;

  const wantsBasic: HostileRegistry['trouble'] = (request, response) => {
    if (request.headers.authorization === basic) return undefined;
    request.resume();
    answer(response, 401, { 'www-authenticate': 'Basic realm="here"' });
    return true;
  };

  test('Basic, only when it is asked for, and not without a user', async (t) => {
    const at = await subject(t, credentials);
    at.registry.trouble = wantsBasic;
    await pushImage(at.client, memoryImage([layer]), pieces);
    assertWhole(at);
    assert.equal(at.registry.authorizations[0], undefined);
    assert.ok(at.registry.authorizations.slice(1).every((value) => value === basic));

    const anonymous = await subject(t);
    anonymous.registry.trouble = wantsBasic;
    await assert.rejects(pushImage(anonymous.client, memoryImage([layer]), pieces), {
      code: 'REGISTRY_UNAUTHORIZED',
      message: /wants a user and a password, and none are configured/u,
    });
    const mistaken = await subject(t, { ...credentials, password: 'wrong-word' });
    mistaken.registry.trouble = wantsBasic;
    await assert.rejects(pushImage(mistaken.client, memoryImage([layer]), pieces), (error: Error) => {
      assert.match(error.message, /answered 401/u);
      assert.doesNotMatch(error.message, /wrong-word/u);
      return true;
    });
    assert.equal(mistaken.registry.log.length, 2, 'a wrong password is not tried again');
  });

  test('tokens: of the scope that is needed, and another when one has expired', async (t) => {
    const at = await subject(t, credentials);
    const tokens = await HostileRegistry.start(t);
    const asked: URLSearchParams[] = [];
    let uses = 0;
    tokens.trouble = (request, response) => {
      assert.equal(request.headers.authorization, basic);
      asked.push(new URL(request.url ?? '', tokens.origin).searchParams);
      uses = 0;
      answer(response, 200, {}, Buffer.from(JSON.stringify({ token: `token-${asked.length}` })));
      return true;
    };
    at.registry.trouble = (request, response) => {
      uses += 1;
      if (request.headers.authorization === `Bearer token-${asked.length}` && uses < 5) return undefined;
      request.resume();
      const realm = `Bearer realm="${tokens.origin}/token",service="the, registry",scope="repository:team/stemcell:pull"`;
      answer(response, 401, { 'www-authenticate': realm });
      return true;
    };
    await pushImage(at.client, memoryImage([layer]), pieces);
    assertWhole(at);
    assert.ok(asked.length >= 3, 'tokens expired in the middle');
    assert.equal(asked[0]?.get('service'), 'the, registry');
    assert.deepEqual(asked[0]?.getAll('scope'), [
      'repository:team/stemcell:pull',
      'repository:team/stemcell:pull,push',
    ]);
  });

  test('a token server that gives none is named, and no secret is', async (t) => {
    const at = await subject(t, credentials);
    for (const [status, body, pattern] of [
      [401, '{}', /does not accept the user and password.*answered 401/u],
      [200, 'no json pass-word', /answered 200 without a token/u],
      [200, '{"token":"two\\nlines"}', /without a token/u],
      [404, '', /answered 404 without a token/u],
    ] as const) {
      at.registry.trouble = (request, response) => {
        request.resume();
        if ((request.url ?? '').startsWith('/token')) answer(response, status, {}, Buffer.from(body));
        else answer(response, 401, { 'www-authenticate': `Bearer realm="${at.registry.origin}/token"` });
        return true;
      };
      await assert.rejects(pushImage(at.client, memoryImage([layer]), pieces), (error: Error) => {
        assert.match(error.message, pattern);
        assert.doesNotMatch(error.message, /pass-word/u);
        return true;
      });
    }
  });

  test('what a registry says comes without our secrets', async (t) => {
    const at = await subject(t, credentials);
    at.registry.trouble = (request, response) => {
      if (wantsBasic(request, response) === true) return true;
      request.resume();
      refuse(response, 418, 'ODD', `you sent ${request.headers.authorization ?? ''} of pass-word\n\u0007`);
      return true;
    };
    await assert.rejects(deleteManifest(at.client, `sha256:${'1'.repeat(64)}`), (error: Error) => {
      assert.match(error.message, /answered 418; it says: ODD you sent Basic <redacted> of <redacted>/u);
      return true;
    });
  });

  test('a secret that is cut, or is not of ASCII, is taken out too', async (t) => {
    for (const [password, before] of [
      ['pass-word', 'x'.repeat(290)],
      ['pässe-wörter', ''],
    ] as const) {
      const at = await subject(t, { username: 'robot', password });
      at.registry.trouble = (request, response) => {
        request.resume();
        refuse(response, 418, 'ODD', `${before}${password}`);
        return true;
      };
      await assert.rejects(deleteManifest(at.client, `sha256:${'1'.repeat(64)}`), (error: Error) => {
        assert.match(error.message, /it says: ODD x*<redac/u);
        assert.doesNotMatch(error.message, /pa|rter/u);
        return true;
      });
    }
  });

  test('a challenge without a way to meet it is an error', async (t) => {
    const at = await subject(t, credentials);
    at.registry.trouble = (_, response) => {
      answer(response, 401, { 'www-authenticate': 'Negotiate' });
      return true;
    };
    await assert.rejects(getManifest(at.client, `sha256:${'1'.repeat(64)}`), {
      code: 'REGISTRY_UNAUTHORIZED',
      message: /did not say how to authenticate/u,
    });
  });
});

describe('deletion', () => {
  test('deletes, finds nothing any more, and tells a registry that deletes nothing', async (t) => {
    const at = await subject(t);
    const digest = await pushImage(at.client, memoryImage([small]), pieces);
    assert.equal(await deleteManifest(at.client, digest), 'deleted');
    assert.equal(await deleteManifest(at.client, digest), 'absent');
    assert.equal(await getManifest(at.client, digest), undefined);
    at.registry.deletes = false;
    assert.equal(await deleteManifest(at.client, digest), 'refused');
  });

  test('a manifest that is not what its digest says is refused', async (t) => {
    const at = await subject(t);
    const digest = `sha256:${'1'.repeat(64)}`;
    at.registry.manifests.set(digest, Buffer.from('other'));
    await assert.rejects(getManifest(at.client, digest), { code: 'DIGEST_MISMATCH' });
  });
});
