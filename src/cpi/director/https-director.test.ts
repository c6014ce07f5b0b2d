import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Clock } from '../../kubernetes/clock.ts';
import { createTestAuthority } from '../../kubernetes/testing/certificates.ts';
import { closedPort } from '../../kubernetes/testing/closed-port.ts';
import { rejection } from '../testing/rejection.ts';
import type { Director } from './director.ts';
import type { HttpsDirectorOptions } from './https-director.ts';
import { httpsDirector } from './https-director.ts';
import { conformanceGroups, testDirector } from './testing/director-conformance.ts';
import type { DirectorServerOptions } from './testing/director-server.ts';
import { clientSecret, DirectorServer } from './testing/director-server.ts';
import { fakeDirector } from './testing/fake-director.ts';

const manifest =
  'name: app\ninstance_groups:\n- {name: web}\n- {name: smoke_tests, lifecycle: errand}\n- {name: later, lifecycle: ((lifecycle))}\n';
const web = { deployment: 'app', instanceGroup: 'web' };
const errand = { deployment: 'app', instanceGroup: 'smoke-tests' };

async function startServer(
  t: TestContext,
  options: Partial<DirectorServerOptions> = {},
): Promise<DirectorServer> {
  const server = await DirectorServer.start({ deployments: { app: manifest }, ...options });
  t.after(() => server.close());
  return server;
}

/** A clock that every sleep moves on at once. */
function hurriedClock(): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  return {
    slept,
    now: () => slept.reduce((sum, one) => sum + one, 0),
    sleep: async (milliseconds) => void slept.push(milliseconds),
  };
}

function clientOf(server: DirectorServer, changes: Partial<HttpsDirectorOptions> = {}): Director {
  const { url, ca, client, client_secret: secret } = server.settings;
  return httpsDirector({
    ...{ url, ca, client, clientSecret: secret, uuid: undefined, deadlineMs: 60_000 },
    ...{ clock: hurriedClock(), random: () => 0 },
    ...changes,
  });
}

/** Nothing that a message must not have. */
const withoutSecrets = (error: unknown): true => {
  assert.doesNotMatch(String(error), new RegExp(`${clientSecret}|token-of|[A-Za-z0-9+/]{20,}=`, 'u'));
  return true;
};

testDirector('the fake', async () => fakeDirector(conformanceGroups));
for (const authentication of ['uaa', 'basic'] as const)
  testDirector(`over HTTPS, ${authentication}`, async (t) =>
    clientOf(await startServer(t, { authentication })),
  );

test('what it asks: who knows the client, a token, the manifest', async (t) => {
  const server = await startServer(t);
  await clientOf(server).lifecycleOf(web);
  assert.deepEqual(server.asked, ['GET /info', 'POST /uaa/oauth/token', 'GET /deployments/app']);
  const basic = await startServer(t, { authentication: 'basic' });
  await clientOf(basic).lifecycleOf(web);
  assert.deepEqual(basic.asked, ['GET /info', 'GET /deployments/app']);
});

test('a deployment whose name is another than the one in env is found by the list of names', async (t) => {
  const name = 'My_App, 100% new/old';
  const server = await startServer(t, { deployments: { other: null, [name]: manifest } });
  const group = { deployment: 'my-app100newold', instanceGroup: 'smoke-tests' };
  assert.equal(await clientOf(server).lifecycleOf(group), 'errand');
  assert.equal(server.asked.at(-1), 'GET /deployments/My_App%2C%20100%25%20new%2Fold');
});

test('while the first deploy is under way there is no manifest: a service', async (t) => {
  const server = await startServer(t, { deployments: { app: null } });
  assert.equal(await clientOf(server).lifecycleOf(errand), 'service');
});

for (const authentication of ['uaa', 'basic'] as const)
  test(`a wrong secret, ${authentication}: an error that names the client and not the secret`, async (t) => {
    const server = await startServer(t, { authentication });
    const asked = clientOf(server, { clientSecret: 'wrong-pass-word' }).lifecycleOf(web);
    await assert.rejects(asked, (error) => {
      assert.doesNotMatch(String(error), /wrong-pass-word/u);
      withoutSecrets(error);
      return rejection('DIRECTOR_ERROR', /client 'cpi'/u, /check director\.client/u)(error);
    });
  });

for (const [name, options] of [
  ['a UAA', {}],
  ['a UAA that decodes when it is told', { isUaaCompatible: true }],
  ['a director with users', { authentication: 'basic' }],
] as const)
  test(`a secret of any characters reaches ${name} as it is`, async (t) => {
    const server = await startServer(t, { ...options, secret: 'pass%41+w:ör d' });
    assert.equal(await clientOf(server).lifecycleOf(errand), 'errand');
  });

test('a CA that cannot be read is an error that names the property, and nobody is asked', async (t) => {
  const server = await startServer(t);
  const { ca } = server.settings;
  const cut = '-----BEGIN CERTIFICATE-----\npass-word\n-----END CERTIFICATE-----\n';
  for (const unreadable of ['-----BEGIN CERTIFICATE-----pass-word', cut, `${ca}${cut}`])
    await assert.rejects(clientOf(server, { ca: unreadable }).lifecycleOf(web), (error) => {
      assert.doesNotMatch(String(error), /pass-word/u);
      return rejection('DIRECTOR_ERROR', /a certificate that cannot be read;.* director\.ca /u)(error);
    });
  assert.deepEqual(server.asked, []);
  const twice = `# two of them\n${ca}\n${ca}`;
  assert.equal(await clientOf(server, { ca: twice }).lifecycleOf(errand), 'errand');
});

test('a certificate of another CA is refused at once, and nothing was sent', async (t) => {
  const server = await startServer(t);
  const { ca } = await createTestAuthority();
  const clock = hurriedClock();
  await assert.rejects(
    clientOf(server, { ca, clock }).lifecycleOf(web),
    rejection('DIRECTOR_ERROR', /certificate/u, /director\.ca/u),
  );
  assert.deepEqual([server.asked, clock.slept], [[], []]);
});

test('another director than the one that calls is not asked further', async (t) => {
  const server = await startServer(t, { uuid: 'one' });
  assert.equal(await clientOf(server, { uuid: 'one' }).lifecycleOf(errand), 'errand');
  server.asked.length = 0;
  await assert.rejects(
    clientOf(server, { uuid: 'other' }).lifecycleOf(errand),
    rejection('DIRECTOR_ERROR', /another director/u, /set director\.url/u),
  );
  assert.deepEqual(server.asked, ['GET /info']);
});

test('a deployment that is not there, or not shown, is an error', async (t) => {
  const server = await startServer(t);
  await assert.rejects(
    clientOf(server).lifecycleOf({ deployment: 'absent', instanceGroup: 'web' }),
    rejection('DIRECTOR_ERROR', /no deployment 'absent'/u, /give the client bosh\.read/u),
  );
});

for (const [name, at, answer, message] of [
  ['401 for the deployment', 'GET /deployments/app', { status: 401 }, /bosh\.read/u],
  ['403 for the deployment', 'GET /deployments/app', { status: 403 }, /bosh\.read/u],
  ['a page instead of JSON', 'GET /info', { status: 200, body: '<html>' }, /not JSON/u],
  ['a redirect', 'GET /info', { status: 302, headers: { location: '/other' } }, /status 302/u],
  ['/info of something else', 'GET /info', { status: 200, body: { up: true } }, /\/info/u],
  ['no token', 'POST /uaa/oauth/token', { status: 200, body: {} }, /without a token/u],
  [
    'a token that no header can hold',
    'POST /uaa/oauth/token',
    { status: 200, body: { access_token: 'a\nb' } },
    /without a token/u,
  ],
  ['a manifest that is none', 'GET /deployments/app', { status: 200, body: { manifest: 1 } }, /no manifest/u],
  [
    'a UAA without TLS',
    'GET /info',
    { status: 200, body: { user_authentication: { type: 'uaa', options: { url: 'http://uaa' } } } },
    /not https/u,
  ],
  [
    'an answer without end',
    'GET /deployments/app',
    { status: 200, body: `{"manifest":"${'x'.repeat(17 * 1024 * 1024)}"}` },
    /longer than 16 MiB/u,
  ],
] as const)
  test(`${name}: an error at once`, async (t) => {
    const server = await startServer(t);
    server.onRequest = (request) => (request === at ? answer : undefined);
    const clock = hurriedClock();
    await assert.rejects(clientOf(server, { clock }).lifecycleOf(web), (error) => {
      withoutSecrets(error);
      return rejection('DIRECTOR_ERROR', message)(error);
    });
    assert.equal(server.asked.filter((one) => one === at).length, 1);
    assert.deepEqual(clock.slept, []);
  });

for (const at of ['GET /info', 'POST /uaa/oauth/token', 'GET /deployments/app'])
  for (const status of [429, 500, 502, 503])
    test(`${status} to ${at} twice, then well: asked again`, async (t) => {
      const server = await startServer(t);
      server.onRequest = (request, count) => (request === at && count < 2 ? { status } : undefined);
      const clock = hurriedClock();
      assert.equal(await clientOf(server, { clock }).lifecycleOf(errand), 'errand');
      assert.deepEqual(clock.slept, [200, 400]);
    });

test('never well: asked as the server wants it, and no longer than the deadline', async (t) => {
  const server = await startServer(t);
  const headers = { 'retry-after': '20' };
  server.onRequest = () => ({ status: 503, headers });
  const clock = hurriedClock();
  await assert.rejects(
    clientOf(server, { clock }).lifecycleOf(web),
    rejection('DIRECTOR_UNREACHABLE', /503 \(3 tries\)/u, /director\.url/u),
  );
  assert.deepEqual(clock.slept, [20_000, 20_000]);
});

test('nobody there: tried until the deadline, and an error that names the address and the next step', async () => {
  const clock = hurriedClock();
  const url = `https://127.0.0.1:${await closedPort()}`;
  const { ca } = await createTestAuthority();
  const director = httpsDirector({
    ...{ url, ca, client: 'cpi', clientSecret, uuid: undefined, deadlineMs: 60_000 },
    ...{ clock, random: () => 0 },
  });
  await assert.rejects(
    director.lifecycleOf(web),
    rejection('DIRECTOR_UNREACHABLE', new RegExp(url, 'u'), /refused.*\(22 tries\); see that it runs/u),
  );
  assert.deepEqual(clock.slept, [200, 400, 800, 1600, ...Array.from({ length: 17 }, () => 3200)]);
});

test('a UAA that is away is named, and where its address comes from', async (t) => {
  const server = await startServer(t);
  const uaa = `https://127.0.0.1:${await closedPort()}`;
  const body = { user_authentication: { type: 'uaa', options: { url: uaa } } };
  server.onRequest = (request) => (request === 'GET /info' ? { status: 200, body } : undefined);
  await assert.rejects(
    clientOf(server, { deadlineMs: 1000 }).lifecycleOf(web),
    rejection(
      'DIRECTOR_UNREACHABLE',
      new RegExp(`^.*the UAA at ${uaa}`, 'u'),
      /the one that this director names/u,
    ),
  );
});

test('an answer that does not come is waited for no longer than one request may last', async (t) => {
  const server = await startServer(t);
  server.onRequest = () => ({ status: 200, headers: { 'content-length': '1000000' }, body: '{' });
  const clock = hurriedClock();
  await assert.rejects(
    clientOf(server, { clock, requestMs: 50, deadlineMs: 5000 }).lifecycleOf(web),
    rejection('DIRECTOR_UNREACHABLE', /\(5 tries\)/u),
  );
});

for (const at of ['GET /info', 'POST /uaa/oauth/token', 'GET /deployments/app'])
  test(`an answer to ${at} that trickles is waited for no longer, though each byte comes in time`, async (t) => {
    const server = await startServer(t);
    server.onRequest = (request) => (request === at ? { status: 200, trickle: 10 } : undefined);
    await assert.rejects(
      clientOf(server, { requestMs: 200, deadlineMs: 300 }).lifecycleOf(web),
      rejection('DIRECTOR_UNREACHABLE', /no answer came in time/u),
    );
  });
