import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newPair } from '../signature/testing/new-pair.ts';
import { parseBrokerConfig } from './config.ts';
import { secretsInConfig } from './open-store.ts';

const key = Buffer.alloc(32, 7).toString('base64');
const good = `
listen: 127.0.0.1:9000
username: broker
password: geheim-1
previous_password: geheim-0
nfs:
  ldap: true
  defaults: {version: 4.1}
  forced: {readonly: true}
  allowed_shares: [{share: 'nfs.example.com:/export', spaces: [space-1]}]
  maintenance_info: {version: 1.0.0}
store: {sqlite: /var/vcap/store/broker/broker.db}
encryption_keys: ['${key}']
volume_id: {key: '${key}'}
`;

function problemsOf(text: string, environment: Record<string, string> = {}): string {
  try {
    parseBrokerConfig(text, environment);
  } catch (error) {
    assert.ok(error instanceof Error);
    return error.message;
  }
  return '';
}

test('a configuration is parsed, and PORT takes precedence over listen', () => {
  const config = parseBrokerConfig(good, {});
  assert.deepEqual(config.listen, { host: '127.0.0.1', port: 9000 });
  assert.deepEqual(config.auth, { username: 'broker', passwords: ['geheim-1', 'geheim-0'] });
  const [nfs, smb] = config.offerings;
  assert.deepEqual(nfs?.allowedShares, [
    { share: 'nfs.example.com/export', organizations: undefined, spaces: ['space-1'] },
  ]);
  assert.deepEqual(nfs.operator, { defaults: { version: '4.1' }, forced: { readonly: true } });
  assert.ok(nfs.table.some(({ name }) => name === 'username') && smb === undefined);
  assert.deepEqual(parseBrokerConfig(good, { PORT: '8080' }).listen, { host: '0.0.0.0', port: 8080 });
  const one = parseBrokerConfig(good.replace(/nfs:\n( .*\n)+/u, 'smb:\n'), {});
  assert.deepEqual(
    one.offerings.map(({ name }) => name),
    ['smb'],
  );
  const both = parseBrokerConfig(good.replace(/nfs:\n( .*\n)+/u, ''), {});
  assert.deepEqual(
    both.offerings.map(({ name }) => name),
    ['nfs', 'smb'],
  );
});

test('all errors are reported together, each with its field, and none quotes a value', () => {
  const wrong = `
listen: here
password: 5
passwort: geheim-2
nfs: {defaults: {uid: geheim-3, colour: red}, maintenance_info: {version: geheim}}
smb: {ldap: true, allowed_shares: [{share: geheim, spaces: geheim}, geheim]}
preflight: geheim
store: {}
encryption_keys: [geheim-4]
volume_id: none
`;
  const message = problemsOf(wrong);
  const fields = [...message.matchAll(/^- (\S+) /gmu)].map(([, field]) => field);
  assert.deepEqual(fields, [
    'encryption_keys',
    'listen',
    'nfs.defaults.colour',
    'nfs.defaults.uid',
    'nfs.maintenance_info.version',
    'password',
    'passwort',
    'preflight',
    'smb.allowed_shares[0].share',
    'smb.allowed_shares[0].spaces',
    'smb.allowed_shares[1]',
    'smb.allowed_shares[1].share',
    'smb.ldap',
    'store',
    'username',
    'volume_id',
  ]);
  assert.doesNotMatch(message, /geheim|\bred\b|\bhere\b/u);
});

test('a duplicate key, and invalid YAML, are reported with their line', () => {
  assert.match(problemsOf(`${good}username: other\n`), /line 15: a duplicate key/u);
  assert.match(problemsOf('a: [geheim'), /line 1: not valid YAML/u);
  assert.match(problemsOf('- a'), /must be a map of settings/u);
  assert.match(problemsOf('a: &b geheim\nc: *b\n'), /has an alias .*write the value instead/u);
});

test('a database is read with its settings', () => {
  const postgresql = '{host: db.example.com, database: volumes, user: broker, password: geheim, ca: /ca.pem}';
  const text = good.replace(/^store: .*$/mu, `store: {postgresql: ${postgresql}}`);
  assert.deepEqual(parseBrokerConfig(text, { VCAP_APPLICATION: '{}' }).store, {
    postgresql: {
      host: 'db.example.com',
      port: 5432,
      database: 'volumes',
      user: 'broker',
      password: 'geheim',
      caFile: '/ca.pem',
    },
  });
  const wrong = problemsOf(good.replace(/^store: .*$/mu, 'store: {postgresql: {port: 0}}'));
  for (const field of ['host', 'port', 'database', 'user'])
    assert.match(wrong, new RegExp(`- store\\.postgresql\\.${field} `, 'u'));
});

const credhubText = (settings: string): string =>
  good.replace(/^store: .*$/mu, `store: {credhub: ${settings}}`).replace(/^encryption_keys: .*\n/mu, '');

test('a CredHub is read with a UAA client or with a certificate, and has no encryption keys', () => {
  const uaa = '{client_id: c, client_secret: geheim, ca: /uaa.pem}';
  const common = { url: 'https://credhub:8844', storeId: 'nfsbroker', caFile: '/ca.pem' };
  const credhub = 'url: https://credhub:8844, store_id: nfsbroker, ca: /ca.pem';
  const config = parseBrokerConfig(credhubText(`{${credhub}, uaa: ${uaa}}`), { VCAP_APPLICATION: '{}' });
  const client = { url: undefined, id: 'c', secret: 'geheim', caFile: '/uaa.pem' };
  assert.deepEqual(config.store, { credhub: { ...common, auth: { uaa: client } } });
  assert.deepEqual(config.encryptionKeys, []);
  const other = credhubText(`{${credhub}, client_certificate: /c.pem, client_key: /k.pem}`);
  assert.deepEqual(parseBrokerConfig(other, {}).store, {
    credhub: { ...common, auth: { certificateFile: '/c.pem', keyFile: '/k.pem' } },
  });
  const wrong = credhubText('{url: http://geheim, store_id: a/b, uaa: {url: geheim}, client_key: k}');
  const message = problemsOf(`${wrong}encryption_keys: ['${key}']\nmigrate_from: [{}]\n`);
  assert.deepEqual(
    [...message.matchAll(/^- (\S+) /gmu)].map(([, field]) => field),
    [
      'encryption_keys',
      ...['store_id', 'uaa', 'uaa.client_id', 'uaa.client_secret', 'url'].map(
        (name) => `migrate_from[0].${name}`,
      ),
      ...['client_certificate', 'store_id', 'uaa', 'url'].map((name) => `store.credhub.${name}`),
    ],
  );
  assert.doesNotMatch(message, /geheim/u);
});

test('SQLite is refused in an app of Cloud Foundry, whose disk is ephemeral', () => {
  assert.match(problemsOf(good, { VCAP_APPLICATION: '{}' }), /store\.sqlite is lost when an app/u);
});

test('a signing key is a string or a file, replaces volume_id, and is never logged', () => {
  const without = good.replace(/^volume_id: .*\n/mu, '');
  assert.deepEqual(parseBrokerConfig(`${without}signing: {key: /signing.pem}\n`, {}).scheme, {
    signingKeyFile: '/signing.pem',
  });
  const { privatePem, key: signingKey } = newPair();
  const config = parseBrokerConfig(`${without}signing: {key: ${JSON.stringify(privatePem)}}\n`, {});
  assert.deepEqual('signingKey' in Object(config.scheme) && config.scheme, { signingKey });
  assert.ok(secretsInConfig(config).includes(privatePem));
  const wrong = problemsOf(`${good}signing: {key: '-----BEGIN PRIVATE KEY----- geheim'}\n`);
  assert.match(wrong, /- signing\.key must be a private key.*\n- volume_id must not be set/su);
  assert.doesNotMatch(wrong, /geheim/u);
});

test('a secret store is one prefix in CredHub or in files, and needs signed volumes', () => {
  const { privatePem } = newPair();
  const signing = `signing: {key: ${JSON.stringify(privatePem)}}\n`;
  const signed = `${good.replace(/^volume_id: .*\n/mu, '')}${signing}`;
  const [nfs] = parseBrokerConfig(`${signed}secrets: {file: /var/secrets}\n`, {}).offerings;
  const row = nfs?.table.find(({ name }) => name === 'password_ref');
  assert.equal(row?.prefix, '((file:/var/secrets/');
  assert.match(problemsOf(`${good}secrets: {credhub: /volumes}\n`), /- secrets needs signing/u);
  for (const wrong of ['{}', '{vault: /a}', '{credhub: /a, file: /b}'])
    assert.match(problemsOf(`${signed}secrets: ${wrong}\n`), /- secrets must have one of/u);
  for (const wrong of ['volumes', '/', '/a/', '/a/../b', '/a b'])
    assert.match(
      problemsOf(`${signed}secrets: {credhub: ${wrong}}\n`),
      /- secrets\.credhub must be a path such as/u,
    );
});
