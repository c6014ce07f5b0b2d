import assert from 'node:assert/strict';
import { X509Certificate, createPrivateKey, createPublicKey, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFile, readdir, stat, symlink, lstat, writeFile } from 'node:fs/promises';
import { createServer, get } from 'node:https';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { fromValue, toValue } from '../yaml/yaml-node.ts';
import { createValueGenerator } from './generate-value.ts';
import { VarsStore } from './vars-store.ts';

const now = new Date('2030-01-02T03:04:05Z');
const position = { file: 'm.yml', line: 7, column: 3 };

function openStore(path: string, at = now): VarsStore {
  const generate = createValueGenerator({ now: () => at, randomBelow: (limit) => randomInt(limit) });
  return new VarsStore({ path, generate, operatorValues: new Map() });
}

async function value(store: VarsStore, name: string, type: string, options?: unknown): Promise<unknown> {
  const given = options === undefined ? {} : { options: fromValue(options, position) };
  const node = await store.get({ name, type, ...given });
  return node && toValue(node);
}

type Certificate = Readonly<Record<'certificate' | 'private_key' | 'ca', string>>;

test('a generated value is written once and kept', async (t) => {
  const directory = await scratchDirectory(t);
  const path = join(directory, 'sub', 'vars.yml');
  const first = await value(openStore(path), 'pw', 'password', { length: 30 });
  assert.match(String(first), /^[a-z0-9]{30}$/);
  assert.equal((await stat(path)).mode & 0o777, 0o600);
  assert.equal(await value(openStore(path), 'pw', 'password'), first);
  assert.deepEqual(await readdir(join(directory, 'sub')), ['vars.yml'], 'no unfinished file');
});

test('values from the operator or the bosh CLI are never changed', async (t) => {
  const path = join(await scratchDirectory(t), 'vars.yml');
  await writeFile(path, 'pw: mine\nkey:\n  private_key: |\n    line\n');
  const store = openStore(path);
  assert.equal(await value(store, 'pw', 'password'), 'mine');
  await value(store, 'new', 'password');
  assert.match(
    await readFile(path, 'utf8'),
    /^key:\n {2}private_key: \|\n {4}line\nnew: [a-z0-9]{20}\npw: mine\n$/,
  );
});

test('a linked store is written at its target', async (t) => {
  const directory = await scratchDirectory(t);
  await writeFile(join(directory, 'real.yml'), '{}');
  await symlink('real.yml', join(directory, 'vars.yml'));
  await value(openStore(join(directory, 'vars.yml')), 'pw', 'password');
  assert.ok((await lstat(join(directory, 'vars.yml'))).isSymbolicLink());
  assert.match(await readFile(join(directory, 'real.yml'), 'utf8'), /^pw: /);
});

test('a link to a missing store creates it at its target', async (t) => {
  const directory = await scratchDirectory(t);
  const link = join(directory, 'vars.yml');
  await symlink('vault/real.yml', link);
  await value(openStore(link), 'pw', 'password');
  assert.ok((await lstat(link)).isSymbolicLink());
  assert.match(await readFile(join(directory, 'vault', 'real.yml'), 'utf8'), /^pw: /);
});

test('a name without a type is only looked up', async (t) => {
  const store = openStore(join(await scratchDirectory(t), 'vars.yml'));
  assert.equal(await store.get({ name: 'x' }), undefined);
});

test('a certificate is signed by its CA and serves TLS', async (t) => {
  const store = openStore(join(await scratchDirectory(t), 'vars.yml'), new Date());
  const key = { key_length: 2048 };
  const ca = (await value(store, 'ca', 'certificate', {
    ...key,
    is_ca: true,
    common_name: 'root',
  })) as Certificate;
  const options = {
    ...key,
    ca: 'ca',
    common_name: 'server',
    alternative_names: ['127.0.0.1', 'example.test'],
  };
  const leaf = (await value(store, 'tls', 'certificate', options)) as Certificate;
  assert.equal(leaf.ca, ca.certificate);
  assert.equal(ca.ca, ca.certificate);
  const server = createServer({ key: leaf.private_key, cert: leaf.certificate }, (_, answer) =>
    answer.end('yes'),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const request = get({ host: '127.0.0.1', port, ca: leaf.ca, agent: false });
  const [answer] = await once(request, 'response');
  assert.equal(answer.statusCode, 200);
  answer.resume();
});

test('a certificate has the fields that config-server sets', async (t) => {
  const store = openStore(join(await scratchDirectory(t), 'vars.yml'));
  const ca = (await value(store, 'ca', 'certificate', {
    is_ca: true,
    common_name: 'root',
    key_length: 2048,
  })) as Certificate;
  const options = {
    ca: 'ca',
    common_name: 'c',
    organization: 'Org',
    extended_key_usage: ['client_auth'],
    duration: 10,
  };
  const leaf = (await value(store, 'c', 'certificate', options)) as Certificate;
  const [root, certificate] = [new X509Certificate(ca.certificate), new X509Certificate(leaf.certificate)];
  assert.ok(
    certificate.verify(root.publicKey) && certificate.checkIssued(root) && root.ca && !certificate.ca,
  );
  assert.equal(certificate.subject, 'C=US\nO=Org\nCN=c');
  assert.equal(root.subject, 'C=US\nO=Cloud Foundry\nCN=root');
  assert.deepEqual(certificate.keyUsage, ['1.3.6.1.5.5.7.3.2']);
  assert.deepEqual(
    [certificate.validFromDate, certificate.validToDate],
    [now, new Date('2030-01-12T03:04:05Z')],
  );
  assert.deepEqual(root.validToDate, new Date('2031-01-02T03:04:05Z'));
  assert.match(leaf.private_key, /^-----BEGIN RSA PRIVATE KEY-----\n/, 'the form that the bosh CLI reads');
  assert.ok(certificate.checkPrivateKey(createPrivateKey(leaf.private_key)));
  assert.equal(createPublicKey(leaf.private_key).asymmetricKeyDetails?.modulusLength, 3072);
});

test('an intermediate CA is signed by its named CA', async (t) => {
  const store = openStore(join(await scratchDirectory(t), 'vars.yml'));
  const key = { key_length: 2048, is_ca: true };
  const root = (await value(store, 'root', 'certificate', { ...key, common_name: 'root' })) as Certificate;
  const middle = (await value(store, 'middle', 'certificate', {
    ...key,
    common_name: 'middle',
    ca: 'root',
  })) as Certificate;
  assert.equal(middle.ca, root.certificate);
  assert.ok(new X509Certificate(middle.certificate).checkIssued(new X509Certificate(root.certificate)));
});

test('RSA and SSH keys have their parts', async (t) => {
  const store = openStore(join(await scratchDirectory(t), 'vars.yml'));
  const rsa = (await value(store, 'rsa', 'rsa')) as Readonly<Record<string, string>>;
  const ssh = (await value(store, 'ssh', 'ssh')) as Readonly<Record<string, string>>;
  assert.match(rsa['public_key'] ?? '', /^-----BEGIN PUBLIC KEY-----/);
  assert.ok(createPublicKey(rsa['private_key'] ?? '').equals(createPublicKey(rsa['public_key'] ?? '')));
  const [type, blob = ''] = (ssh['public_key'] ?? '').trim().split(' ');
  assert.equal(type, 'ssh-rsa');
  assert.match(ssh['public_key_fingerprint'] ?? '', /^([0-9a-f]{2}:){15}[0-9a-f]{2}$/);
  const n = Buffer.from(
    createPublicKey(ssh['private_key'] ?? '').export({ format: 'jwk' }).n ?? '',
    'base64url',
  );
  assert.ok(Buffer.from(blob, 'base64').includes(n));
});

test('invalid definitions are errors with a position', async (t) => {
  const store = openStore(join(await scratchDirectory(t), 'vars.yml'));
  const cases: readonly (readonly [type: string, options: unknown, message: RegExp])[] = [
    ['certificate', { common_name: 'x' }, /m\.yml:7:3: .*'v' options\.ca: must name the variable of the CA/],
    ['certificate', { is_ca: true, key_length: 1024 }, /key_length: must be one of 2048, 3072, 4096/],
    ['certificate', { ca: 'nobody' }, /m\.yml:7:3: .*the CA 'nobody' is neither given nor generated/],
    ['certificate', { is_ca: true, extended_key_usage: ['x'] }, /must be one of client_auth, server_auth/],
    ['certificate', { is_ca: true, colour: 'red' }, /colour: is not an option of type 'certificate'/],
    ['password', { length: -1 }, /must not be negative/],
    ['user', undefined, /'v' has the type 'user', which cannot be generated/],
  ];
  for (const [type, options, message] of cases) {
    await assert.rejects(
      value(store, 'v', type, options),
      { code: 'MANIFEST_INVALID', message },
      String(message),
    );
  }
});

test('an unreadable store is named', async (t) => {
  const directory = await scratchDirectory(t);
  const bad = join(directory, 'bad.yml');
  await writeFile(bad, '[1]');
  await assert.rejects(value(openStore(bad), 'x', 'password'), {
    code: 'VARS_STORE_INVALID',
    message: /bad\.yml:1:1/,
  });
  await assert.rejects(value(openStore(directory), 'x', 'password'), {
    code: 'VARS_STORE_INVALID',
    message: /EISDIR/,
  });
});
