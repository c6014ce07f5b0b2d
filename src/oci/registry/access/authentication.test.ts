import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteManifest, getManifest } from '../manifests.ts';
import { pushImage } from '../push-image.ts';
import { answer, HostileRegistry, refuse } from '../testing/hostile-registry.ts';
import { memoryImage } from '../testing/memory-image.ts';
import { assertWhole, layer, chunkOptions, subject } from '../testing/push-subject.ts';

const credentials = { username: 'robot', password: 'pass-word' };
const basic = `Basic ${Buffer.from('robot:pass-word').toString('base64')}`;

const wantsBasic: HostileRegistry['trouble'] = (request, response) => {
  if (request.headers.authorization === basic) return undefined;
  request.resume();
  answer(response, 401, { 'www-authenticate': 'Basic realm="here"' });
  return true;
};

test('Basic credentials are sent only when the registry requests them, and need a user', async (t) => {
  const at = await subject(t, credentials);
  at.registry.trouble = wantsBasic;
  await pushImage(at.client, memoryImage([layer]), chunkOptions);
  assertWhole(at);
  assert.equal(at.registry.authorizations[0], undefined);
  assert.ok(at.registry.authorizations.slice(1).every((value) => value === basic));

  const anonymous = await subject(t);
  anonymous.registry.trouble = wantsBasic;
  await assert.rejects(pushImage(anonymous.client, memoryImage([layer]), chunkOptions), {
    code: 'REGISTRY_UNAUTHORIZED',
    message: /requires a user name and a password, and none are configured/u,
  });
  const mistaken = await subject(t, { ...credentials, password: 'wrong-word' });
  mistaken.registry.trouble = wantsBasic;
  await assert.rejects(pushImage(mistaken.client, memoryImage([layer]), chunkOptions), (error: Error) => {
    assert.match(error.message, /answered 401/u);
    assert.doesNotMatch(error.message, /wrong-word/u);
    return true;
  });
  assert.equal(mistaken.registry.log.length, 2, 'a wrong password is not tried again');
});

test('a token is requested for the needed scope, and again when it has expired', async (t) => {
  const at = await subject(t, credentials);
  const tokens = await HostileRegistry.start(t);
  const requests: URLSearchParams[] = [];
  let uses = 0;
  tokens.trouble = (request, response) => {
    assert.equal(request.headers.authorization, basic);
    requests.push(new URL(request.url ?? '', tokens.origin).searchParams);
    uses = 0;
    answer(response, 200, {}, Buffer.from(JSON.stringify({ token: `token-${requests.length}` })));
    return true;
  };
  at.registry.trouble = (request, response) => {
    uses += 1;
    if (request.headers.authorization === `Bearer token-${requests.length}` && uses < 5) return undefined;
    request.resume();
    const realm = `Bearer realm="${tokens.origin}/token",service="the, registry",scope="repository:team/stemcell:pull"`;
    answer(response, 401, { 'www-authenticate': realm });
    return true;
  };
  await pushImage(at.client, memoryImage([layer]), chunkOptions);
  assertWhole(at);
  assert.ok(requests.length >= 3, 'tokens expired in the middle');
  assert.equal(requests[0]?.get('service'), 'the, registry');
  assert.deepEqual(requests[0]?.getAll('scope'), [
    'repository:team/stemcell:pull',
    'repository:team/stemcell:pull,push',
  ]);
});

test('a token server that returns no token is named without the secrets', async (t) => {
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
    await assert.rejects(pushImage(at.client, memoryImage([layer]), chunkOptions), (error: Error) => {
      assert.match(error.message, pattern);
      assert.doesNotMatch(error.message, /pass-word/u);
      return true;
    });
  }
});

test('the message of a registry is shown without our secrets', async (t) => {
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

test('a secret that is truncated or not ASCII is removed too', async (t) => {
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

test('an unsupported challenge is an error', async (t) => {
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
