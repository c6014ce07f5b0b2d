import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { MountError, type MountErrorCode } from './mount/mount-error.ts';
import { runDriver } from './cli.ts';
import { startDriver } from './start-driver.ts';
import { memoryMounter } from './testing/memory-mounter.ts';
import { callerOf, configIn, driverDirectory, nfsOptions } from './testing/test-driver.ts';
import { createLdapIdResolver, type LdapSettings, parseLdapSettings } from './ldap.ts';
import { base, noSlapd, service, type Slapd, startSlapd } from './testing/slapd.ts';

const skip = noSlapd;
const password = 'correct-horse';
const alice = { username: 'alice', password };
const inTime = AbortSignal.timeout(600_000);

const user = (cn: string, lines: readonly string[], rdn = `cn=${cn}`): string =>
  [
    `dn: ${rdn},${base}`,
    'objectClass: user',
    `cn: ${cn}`,
    ...lines,
    `userPassword: ${password}`,
    '',
    '',
  ].join('\n');

const entries = [
  user('alice', ['uidNumber: 4000', 'gidNumber: 4001']),
  user('no group', ['uidNumber: 4002']),
  user('a*(b)\\c', ['uidNumber: 4003'], 'uidNumber=4003'),
  user('root', ['uidNumber: 0', 'gidNumber: 0']),
  user('nobody', []),
  user('twin', ['uidNumber: 4004'], 'uidNumber=4004'),
  user('twin', ['uidNumber: 4005'], 'uidNumber=4005'),
].join('');

let slapd: Slapd;
before(async () => {
  if (skip === false) slapd = await startSlapd(entries);
});
after(() => slapd?.stop());

function settings(changes: Readonly<Record<string, string>> = {}): LdapSettings {
  const problems: string[] = [];
  const parsed = parseLdapSettings(
    {
      LDAP_HOST: '127.0.0.1',
      LDAP_PORT: String(slapd.tlsPort),
      LDAP_CA_CERT: slapd.ca,
      LDAP_SVC_USER: service.dn,
      LDAP_SVC_PASS: service.password,
      LDAP_USER_FQDN: base,
      ...changes,
    },
    problems,
  );
  assert.deepEqual(problems, []);
  return parsed ?? assert.fail('LDAP is not configured');
}

const refusedAs = (code: MountErrorCode, args: RegExp) => (error: unknown) => {
  assert.ok(error instanceof MountError);
  assert.equal(error.code, code, error.message);
  assert.match(error.message, args);
  return !error.message.includes(password) && !error.message.includes(service.password);
};

test('a user has the ids from the directory, with and without TLS', { skip }, async () => {
  const byTls = createLdapIdResolver(settings());
  assert.deepEqual(await byTls(alice, inTime), { uid: 4000, gid: 4001 });
  assert.deepEqual(await byTls({ username: 'no group', password }, inTime), { uid: 4002, gid: 4002 });
  const plain = createLdapIdResolver(settings({ LDAP_PORT: String(slapd.port), LDAP_CA_CERT: '' }));
  assert.deepEqual(await plain(alice, inTime), { uid: 4000, gid: 4001 });
});

test('filter characters in a name are escaped', { skip }, async () => {
  const resolveIds = createLdapIdResolver(settings());
  assert.deepEqual(await resolveIds({ username: 'a*(b)\\c', password }, inTime), { uid: 4003, gid: 4003 });
  for (const username of ['a*', 'ali*', 'alice)(cn=*', 'x)(|(cn=alice)'])
    await assert.rejects(
      resolveIds({ username, password }, inTime),
      refusedAs('BAD_CREDENTIALS', /User does not exist/u),
    );
});

test(
  'an empty password is refused, because the server would take it for an anonymous bind',
  { skip },
  async () => {
    const resolveIds = createLdapIdResolver(settings());
    await assert.rejects(
      resolveIds({ ...alice, password: '' }, inTime),
      refusedAs('BAD_CREDENTIALS', /must not be empty/u),
    );
    await assert.rejects(
      resolveIds({ username: '', password }, inTime),
      refusedAs('BAD_CREDENTIALS', /must not be empty/u),
    );
  },
);

test('each refusal names whether the user or the operator must correct it', { skip }, async () => {
  const resolveIds = createLdapIdResolver(settings());
  const cases = [
    ['alice', 'wrong', 'BAD_CREDENTIALS', /refuses the password/u],
    ['stranger', password, 'BAD_CREDENTIALS', /User does not exist/u],
    ['twin', password, 'BAD_CREDENTIALS', /Ambiguous search/u],
    ['nobody', password, 'FAILED', /no uidNumber/u],
    ['root', password, 'FAILED', /uidNumber of the user/u],
  ] as const;
  for (const [username, given, code, args] of cases)
    await assert.rejects(resolveIds({ username, password: given }, inTime), refusedAs(code, args), username);
  const badService = createLdapIdResolver(settings({ LDAP_SVC_PASS: 'wrong' }));
  await assert.rejects(badService(alice, inTime), refusedAs('FAILED', /LDAP_SVC_USER/u));
  const badBase = createLdapIdResolver(settings({ LDAP_USER_FQDN: 'dc=elsewhere' }));
  await assert.rejects(badBase(alice, inTime), refusedAs('FAILED', /LDAP_USER_FQDN/u));
});

test('a server whose certificate has another CA, or that has none, gets no password', { skip }, async () => {
  const other = await startSlapd('');
  await other.stop();
  const wrongCa = createLdapIdResolver(settings({ LDAP_CA_CERT: other.ca }));
  await assert.rejects(wrongCa(alice, inTime), refusedAs('UNREACHABLE', /could not be reached/u));
  const noTls = createLdapIdResolver(settings({ LDAP_PORT: String(slapd.port) }));
  await assert.rejects(noTls(alice, inTime), refusedAs('UNREACHABLE', /could not be reached/u));
  const unreachable = createLdapIdResolver(settings({ LDAP_PORT: String(other.port) }));
  await assert.rejects(unreachable(alice, inTime), refusedAs('UNREACHABLE', /could not be reached/u));
});

test('a request to a silent server ends at the deadline', { skip }, async (t) => {
  slapd.signal('SIGSTOP');
  t.after(() => slapd.signal('SIGCONT'));
  const resolveIds = createLdapIdResolver(settings({ LDAP_TIMEOUT: '1' }));
  await assert.rejects(resolveIds(alice, inTime), refusedAs('TIMED_OUT', /in time/u));
  const patient = createLdapIdResolver(settings());
  await assert.rejects(patient(alice, AbortSignal.timeout(500)), refusedAs('TIMED_OUT', /in time/u));
});

test('a driver mounts the share of a user with the ids from the directory', { skip }, async (t) => {
  const mounter = memoryMounter();
  const config = configIn(await driverDirectory(t));
  const idsOf = createLdapIdResolver(settings());
  const driver = await startDriver(config, { mounter, idsOf, out: () => undefined });
  t.after(() => driver.stop());
  const call = callerOf(driver.address);
  for (const [name, login, err] of [
    ['right', alice, /^$/u],
    ['wrong', { ...alice, password: 'wrong' }, /SafeDescription.*refuses the password/u],
  ] as const) {
    await call('VolumeDriver.Create', { Name: name, Opts: { ...nfsOptions, ...login } });
    assert.match((await call('VolumeDriver.Mount', { Name: name })).Err, err);
  }
  const orders = [...mounter.mounts.values()];
  assert.deepEqual(
    orders.map((spec) => spec.kind === 'nfs' && spec.ids),
    [{ uid: 4000, gid: 4001 }],
  );
});

test('a driver with invalid LDAP variables does not start', async (t) => {
  const args = ['-name', 'nfsv3driver', '-driversPath', '/nowhere', '-mountDir', '/nowhere'];
  const ports = { environment: { LDAP_HOST: 'h' }, out: () => undefined, signal: t.signal };
  await assert.rejects(runDriver(args, ports), /LDAP_SVC_USER is missing/u);
});

test('settings are read from the variables of nfsv3driver, and errors name them', () => {
  const problems: string[] = [];
  assert.equal(parseLdapSettings({ LDAP_SVC_USER: 'u' }, problems), undefined);
  assert.deepEqual(problems, []);
  const given = { LDAP_HOST: '::1', LDAP_SVC_USER: 'u', LDAP_SVC_PASS: 'p', LDAP_USER_FQDN: 'dc=x' };
  assert.equal(parseLdapSettings(given, problems)?.url, 'ldap://[::1]:389');
  assert.deepEqual(problems, []);
  const bad = {
    LDAP_HOST: 'a b',
    LDAP_PORT: '0',
    LDAP_PROTO: 'udp',
    LDAP_TIMEOUT: 'x',
    LDAP_CA_CERT: 'secret-text',
  };
  const named: string[] = [];
  parseLdapSettings(bad, named);
  for (const name of ['HOST', 'PORT', 'PROTO', 'TIMEOUT', 'CA_CERT', 'SVC_USER', 'SVC_PASS', 'USER_FQDN'])
    assert.ok(
      named.some((problem) => problem.startsWith(`LDAP_${name} `)),
      name,
    );
  assert.ok(!named.join().includes('secret-text'));
});
