import assert from 'node:assert/strict';
import { chmod, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { type CredhubStub, credhubStub, uaaClient } from '../credhub/testing/credhub-stub.ts';
import type { MountSpec } from './mount/mount-command.ts';
import { driverDirectory, safeDescription } from './testing/test-driver.ts';
import { type TrustingDriver, trustingDriver } from './testing/trusting-driver.ts';

const share = { source: '//server/share', username: 'user', mount: '/data' };
const at = (name: string): Record<string, unknown> => ({ ...share, password: `((credhub:${name}))` });
const photos = at('/volumes/team/photos');

interface Setup extends TrustingDriver {
  readonly stub: CredhubStub;
  /** The configuration file of CredHub. */
  readonly file: string;
}

async function driverWithCredhub(
  t: TestContext,
  { auth = 'uaa', args = [] }: { auth?: 'uaa' | 'certificate'; args?: readonly string[] } = {},
): Promise<Setup> {
  const stub = await credhubStub();
  t.after(() => stub.stop());
  const directory = await driverDirectory(t);
  const inDirectory = async (name: string, text: string): Promise<string> => {
    await writeFile(join(directory, name), text, { mode: 0o600 });
    return join(directory, name);
  };
  const { certificate, key } = stub.clientCertificate;
  const login =
    auth === 'uaa'
      ? { uaa: { client_id: uaaClient.id, client_secret: uaaClient.secret } }
      : {
          client_certificate: await inDirectory('client.pem', certificate),
          client_key: await inDirectory('client.key', key),
        };
  const ca = await inDirectory('ca.pem', stub.ca);
  const settings = { url: stub.url, ca, prefix: '/volumes', ...login };
  const file = await inDirectory('credhub.json', JSON.stringify(settings));
  await chmod(file, 0o640);
  const driver = await trustingDriver(t, 'require', { directory, args: ['-credhub', file, ...args] });
  return { ...driver, stub, file };
}

function lastPassword(mounts: ReadonlyMap<string, MountSpec>): string | undefined {
  const spec = [...mounts.values()].at(-1);
  return spec?.kind === 'smb' ? spec.password : undefined;
}

test('a signed volume gets its password from CredHub at each mount, also a rotated one without a new bind', async (t) => {
  const { stub, mount, mounter, log, file } = await driverWithCredhub(t);
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  stub.credentials.set('/volumes/team/photos', 'geheim-1');
  assert.equal(await mount(photos), '');
  assert.equal(lastPassword(mounter.mounts), 'geheim-1');
  stub.credentials.set('/volumes/team/photos', 'geheim-2');
  assert.equal(await mount(photos), '');
  assert.equal(lastPassword(mounter.mounts), 'geheim-2');
  assert.doesNotMatch(log.join(''), /geheim/u);
});

test('a client certificate replaces the UAA', async (t) => {
  const { stub, mount, mounter } = await driverWithCredhub(t, { auth: 'certificate' });
  stub.credentials.set('/volumes/team/photos', 'geheim');
  assert.equal(await mount(photos), '');
  assert.equal(lastPassword(mounter.mounts), 'geheim');
  assert.ok(!stub.requests.includes('POST /uaa/oauth/token'));
});

test('nothing is mounted with a missing, misplaced, unsigned or non-string secret, and CredHub is queried below the prefix only', async (t) => {
  const { stub, mount, mounter, call, log } = await driverWithCredhub(t);
  stub.credentials.set('/volumes/json', { password: 'geheim' });
  stub.credentials.set('/volumes/lines', 'geheim\nvers=1.0');
  stub.credentials.set('/volumes-x/y', 'geheim');
  stub.credentials.set('/other', 'geheim');
  assert.match(await mount(at('/volumes/none')), /^SECRET_UNAVAILABLE: .*no such credential/u);
  assert.match(await mount(at('/volumes/json')), /^SECRET_UNAVAILABLE: .*type must be password or value/u);
  assert.match(await mount(at('/volumes/lines')), /^SECRET_UNAVAILABLE: /u);
  const requestCount = stub.requests.length;
  for (const name of ['/other', '/volumes-x/y', '/volumes'])
    assert.match(await mount(at(name)), /^SECRET_UNAVAILABLE: .*\(-credhub\)/u);
  assert.match(await mount(photos, share), /^NOT_SIGNED: /u);
  await call('VolumeDriver.Create', { Name: 'plain', Opts: photos });
  assert.match(safeDescription(await call('VolumeDriver.Mount', { Name: 'plain' })), /^NOT_SIGNED: /u);
  assert.equal(stub.requests.length, requestCount);
  assert.equal(mounter.mounts.size, 0);
  assert.doesNotMatch(log.join(''), /geheim/u);
});

test('if CredHub refuses the driver, the mount fails with a code, the log has the reason, and a later mount succeeds', async (t) => {
  const { stub, mount, mounter, log } = await driverWithCredhub(t);
  stub.credentials.set('/volumes/team/photos', 'geheim');
  stub.fail = (request) => (request === 'GET /api/v1/data' ? 403 : undefined);
  const refused = await mount(photos);
  assert.match(refused, /^SECRET_UNAVAILABLE: .*CredHub cannot be read now; ask the operator/u);
  assert.ok(!refused.includes(stub.url));
  assert.match(log.join(''), /smb-driver-server\.credhub".*rejected the client \(403\)/u);
  assert.equal(mounter.mounts.size, 0);
  stub.fail = () => undefined;
  assert.equal(await mount(photos), '');
  assert.doesNotMatch(log.join(''), /geheim/u);
});

test('a mount with an unavailable or silent CredHub ends at its deadline, and nothing is mounted', async (t) => {
  const { stub, mount, mounter } = await driverWithCredhub(t, { args: ['-mountTimeout', '300ms'] });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  t.after(() => release());
  await stub.stop();
  assert.match(await mount(photos), /^SECRET_UNAVAILABLE: /u);
  stub.before = () => released;
  await stub.start();
  assert.match(await mount(photos), /^SECRET_UNAVAILABLE: /u);
  assert.equal(mounter.mounts.size, 0);
});

test('an invalid -credhub file is a start error with all its errors and no secret', async (t) => {
  const directory = await driverDirectory(t);
  const file = join(directory, 'credhub.json');
  const start = (args = ['-credhub', file]): Promise<unknown> =>
    trustingDriver(t, 'off', { directory, args });
  await assert.rejects(start(), { code: 'DRIVER_CONFIG_INVALID', message: /no such file/u });
  const uaa = { client_id: 'c', client_secret: 'geheim' };
  const cases: [string, RegExp][] = [
    ['{"uaa": {"client_secret": "geheim"', /a JSON object/u],
    ['[]', /a JSON object/u],
    [
      JSON.stringify({ url: 'http://c', prefix: '/', uaa: { client_secret: 'geheim' }, x: 1 }),
      /"x" is not a setting; url must be https.*uaa\.client_id is missing; prefix must/u,
    ],
    [JSON.stringify({ url: 'https://c', uaa }), /prefix is missing/u],
    [JSON.stringify({ url: 'https://c', prefix: '/v' }), /uaa is needed/u],
    [
      JSON.stringify({ url: 'https://c', prefix: '/v', uaa, ca: join(directory, 'none') }),
      /credhub\.ca names/u,
    ],
  ];
  for (const [text, message] of cases) {
    await writeFile(file, text);
    await assert.rejects(start(), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'DRIVER_CONFIG_INVALID');
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /geheim/u);
      return true;
    });
  }
});
