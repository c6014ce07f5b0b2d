import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { parseBrokerConfig } from '../src/volumes/broker/config.ts';
import { release, rendered, renderer } from './testing/rendered.ts';
import type { Links, Spec } from './testing/rendered.ts';

after(() => renderer.close());

const common = {
  domain: 'sys.example.com',
  app_domain: 'apps.example.com',
  organization: 'system',
  space: 'volume broker',
  username: 'broker',
  password: `geheim "$(id)' 1`,
  volume_id_key: 'k'.repeat(20),
  cf: { client_id: 'push', client_secret: 'geheim-2' },
};
const uaa = {
  uaa_client_id: 'credhub-client',
  uaa_client_secret: 'geheim-3',
  uaa_ca_cert: 'CERTIFICATE of UAA',
};
const nfsBroker = { nfsbrokerpush: { ...common, credhub: uaa } };
const credhubUrl = 'https://credhub.internal:8844';
const smbBroker = { ...common, credhub: { ...uaa, url: credhubUrl, ca_cert: 'CERTIFICATE of CredHub' } };
const credhub = {
  'credhub.internal_url': 'https://credhub.internal',
  'credhub.port': 8844,
  'credhub.ca_certificate': 'CERTIFICATE of CredHub',
};

/** Returns the app of a rendered manifest, and the broker configuration in it. */
async function appOf(job: string, properties: Record<string, unknown>, links?: Links) {
  const { applications } = parse(await rendered(job, 'manifest.yml.erb', properties, links)) as {
    applications: { env: { BROKER_CONFIG: string }; services: string[] }[];
  };
  const [app] = applications;
  assert.ok(app);
  return app;
}

test('the broker of an errand keeps its records in CredHub, like the upstream broker, or in a bound database', async () => {
  const nfs = await appOf('nfsbrokerpush', nfsBroker, { credhub });
  const smb = await appOf('smbbrokerpush', smbBroker);
  for (const [app, name] of [
    [nfs, 'nfs'],
    [smb, 'smb'],
  ] as const) {
    const config = parseBrokerConfig(app.env.BROKER_CONFIG, { PORT: '8080', VCAP_APPLICATION: '{}' });
    assert.deepEqual(config.auth, { username: 'broker', passwords: [common.password] });
    assert.deepEqual(
      config.offerings.map((offering) => offering.name),
      [name],
    );
    const client = { url: undefined, id: 'credhub-client', secret: 'geheim-3', caFile: 'uaa_ca.crt' };
    const store = {
      url: credhubUrl,
      storeId: `${name}broker`,
      caFile: 'credhub_ca.crt',
      auth: { uaa: client },
    };
    assert.deepEqual(config.store, { credhub: store });
  }
  const own = { database_service: 'volumes-db', encryption_key: 'e'.repeat(20) };
  const bound = await appOf('smbbrokerpush', { ...common, ...own });
  assert.deepEqual(bound.services, ['volumes-db']);
  const credentials = { uri: 'postgres://u:p@db.example.com:5432/volumes' };
  const VCAP_SERVICES = JSON.stringify({ any: [{ name: 'volumes-db', credentials }] });
  const { store } = parseBrokerConfig(bound.env.BROKER_CONFIG, { VCAP_SERVICES, VCAP_APPLICATION: '{}' });
  assert.ok('postgresql' in store && store.postgresql.host === 'db.example.com');
  const { privateKey } = generateKeyPairSync('ed25519');
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  const settings = { signing: { key }, preflight: 'log', nfs: { forced: { readonly: true } } };
  const nfsbrokerpush = { ...nfsBroker.nfsbrokerpush, settings };
  const signed = await appOf('nfsbrokerpush', { nfsbrokerpush }, { credhub });
  const { scheme, preflight, offerings } = parseBrokerConfig(signed.env.BROKER_CONFIG, {});
  assert.ok(scheme !== 'md5' && 'signingKey' in scheme);
  assert.equal(preflight, 'log');
  assert.deepEqual(offerings[0]?.operator.forced, { readonly: true });
  await assert.rejects(appOf('nfsbrokerpush', nfsBroker), /no store for its records/u);
  await assert.rejects(appOf('smbbrokerpush', { ...smbBroker, volume_id_key: 'short' }), /at least 20 char/u);
});

/** Runs an errand with a cf that records its arguments and the names of the passwords in its environment. */
async function runErrand(t: TestContext, job: string, properties: Record<string, unknown>, brokers = '') {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-errand-'));
  t.after(() => rm(directory, { recursive: true }));
  const at = (name: string): string => join(directory, name);
  for (const binDirectory of ['bin', 'lib', 'config', 'host', 'tmp']) await mkdir(at(binDirectory));
  await cp(join(release, 'src/volume_services/push-broker'), at('bin/push-broker'));
  for (const file of ['bin/node', 'lib/broker.mjs']) await writeFile(at(file), '');
  const spec = parse(await readFile(join(release, 'jobs', job, 'spec'), 'utf8')) as Spec;
  for (const [template, file] of Object.entries(spec.templates))
    if (file.startsWith('config/'))
      await writeFile(at(file), await rendered(job, template, properties, { credhub }));
  await writeFile(at('brokers'), `name url\n${brokers}`);
  const cf = `#!/bin/bash
say() { printf '%s\\n' "$1" >> ${at('calls')}; }
case $* in
  'push --help') echo '--redact-env'; exit ;;
  stacks) printf 'name description\\ncflinuxfs4 a\\ncflinuxfs3 b\\n'; exit ;;
  service-brokers) cat ${at('brokers')}; exit ;;
  'service '*) exit 1 ;;
esac
say "$*"
[ -z "\${CF_PASSWORD:-}" ] || printf %s "$CF_PASSWORD" > ${at('cf-password')}
[ -z "\${CF_BROKER_PASSWORD:-}" ] || printf %s "$CF_BROKER_PASSWORD" > ${at('broker-password')}
while [ $# -gt 0 ]; do [ "$1" != -p ] || say "files: $(ls "$2" | tr '\\n' ' ')"; shift; done
`;
  await writeFile(at('host/cf'), cf);
  await chmod(at('host/cf'), 0o755);
  const { status, stderr, stdout } = spawnSync(at('bin/push-broker'), [at('config')], {
    env: { PATH: `${at('host')}:${process.env['PATH'] ?? ''}`, TMPDIR: at('tmp') },
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  assert.deepEqual(await readdir(at('tmp')), [], 'tokens of cf are left');
  const calls = (await readFile(at('calls'), 'utf8')).replaceAll(directory, '').trim().split('\n');
  const reports = await Promise.all(
    ['cf-password', 'broker-password'].map((name) => readFile(at(name), 'utf8')),
  );
  return { calls, reports, output: stdout + stderr };
}

test('an errand pushes the broker, registers it, and enables access to a new one, with no password as argument', async (t) => {
  const { calls, reports, output } = await runErrand(t, 'nfsbrokerpush', nfsBroker);
  const push = calls.findIndex((call) => call.startsWith('push '));
  assert.deepEqual(calls.slice(0, push), [
    'api https://api.sys.example.com',
    'auth --client-credentials',
    'create-org system',
    'target -o system',
    'create-space volume broker',
    'target -o system -s volume broker',
    'create-security-group credhub_open /config/security_group.json',
    'update-security-group credhub_open /config/security_group.json',
    'bind-security-group credhub_open system --space volume broker',
  ]);
  assert.match(
    calls[push] ?? '',
    /^push nfsbroker -f \/config\/manifest\.yml -p .* -s cflinuxfs4 --redact-env$/u,
  );
  assert.deepEqual(calls.slice(push + 1), [
    'files: broker.mjs credhub_ca.crt node uaa_ca.crt ',
    'create-service-broker nfsbroker broker https://nfsbroker.apps.example.com',
    'enable-service-access nfs -b nfsbroker',
  ]);
  assert.deepEqual(reports, ['geheim-2', common.password]);
  for (const text of [calls.join('\n'), output]) assert.doesNotMatch(text, /geheim/u);
});

test('an errand updates a registered broker, and keeps its access', async (t) => {
  const user = { cf: { admin_user: 'admin', admin_password: 'geheim-4' }, skip_cert_verify: true };
  const properties = { ...smbBroker, ...user, syslog_url: 'syslog://logs.example.com:514' };
  const { calls, reports } = await runErrand(t, 'smbbrokerpush', properties, 'smbbroker https://old\n');
  assert.deepEqual(calls.slice(0, 2), ['api https://api.sys.example.com --skip-ssl-validation', 'auth']);
  assert.deepEqual(calls.slice(-3), [
    'create-user-provided-service smbbroker-logger -l syslog://logs.example.com:514',
    'bind-service smbbroker smbbroker-logger',
    'update-service-broker smbbroker broker https://smbbroker.apps.example.com',
  ]);
  assert.deepEqual(reports, ['geheim-4', common.password]);
});
