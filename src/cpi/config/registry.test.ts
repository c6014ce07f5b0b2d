import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { type CpiConfig, parseConfig } from './config.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { secretsOfConfig } from './config-secrets.ts';

const base = { url: 'https://registry.example:5000', repository: 'bosh/stemcells' };
const parse = (registry: object, request: object = {}): CpiConfig['registry'] =>
  parseConfig({ registry }, { registry: request }).registry;

test('a registry has a URL and a repository; the rest has defaults', () => {
  assert.equal(parse({}), undefined);
  assert.equal(parseConfig({}, {}).registry, undefined);
  assert.deepEqual(parse(base), {
    origin: 'https://registry.example:5000',
    repository: 'bosh/stemcells',
    ca: undefined,
    credentials: undefined,
    deletion: 'required',
    pullHost: 'registry.example:5000',
  });
  assert.equal(parse({ ...base, url: 'https://registry.example/' })?.pullHost, 'registry.example');
  assert.equal(parse({ ...base, url: 'http://127.0.0.1:5000' })?.origin, 'http://127.0.0.1:5000');
  assert.equal(
    parse({ ...base, url: 'http://registry.example', plain_http: true })?.origin,
    'http://registry.example',
  );
});

test('an invalid value is rejected by its name, and is not quoted', () => {
  for (const [changes, path] of [
    [{ url: undefined }, 'registry needs url'],
    [{ url: 'registry.example' }, 'registry.url'],
    [{ url: 'ftp://registry.example' }, 'registry.url'],
    [{ url: 'http://registry.example' }, 'registry.url is plain http'],
    [{ url: 'https://user:pass-word@registry.example' }, 'registry.url'],
    [{ url: 'https://registry.example/v2/bosh' }, 'registry.url'],
    [{ repository: undefined }, 'registry.repository'],
    [{ repository: 'Bosh' }, 'registry.repository'],
    [{ repository: '../x' }, 'registry.repository'],
    [{ username: 'u' }, 'registry has only one'],
    [{ password: 'pass-word' }, 'registry has only one'],
    [{ username: 'a:b', password: 'pass-word' }, 'registry.username'],
    [{ ca: 'pass-word' }, 'registry.ca'],
    [{ pull_host: 'https://x' }, 'registry.pull_host'],
    [{ delete: 'never' }, 'registry.delete'],
    [{ plain_http: 'yes' }, 'registry.plain_http'],
    [{ insecure: true }, 'registry has keys'],
  ] as const) {
    assert.throws(
      () => parse({ ...base, ...changes }),
      (error) => {
        assert.ok(isProductError(error, 'INVALID_CONFIG'), String(error));
        assert.ok(error.message.includes(path), error.message);
        assert.doesNotMatch(error.message, /pass-word/u);
        return true;
      },
    );
  }
});

test('a later layer changes keys of the registry, but a password never goes to another server', () => {
  const secret = { username: 'u', password: 'pass-word' };
  const kept = parse({ ...base, ...secret }, { repository: 'other' });
  assert.deepEqual([kept?.repository, kept?.credentials], ['other', secret]);
  const moved = parse({ ...base, ...secret, ca: '-----BEGIN ' }, { ...base, url: 'https://else.example' });
  assert.deepEqual([moved?.credentials, moved?.ca], [undefined, undefined]);
  assert.throws(
    () => parse({ ...base, ...secret }, { url: 'https://else.example' }),
    /registry\.repository/u,
  );
});

test('the password is a secret in messages', async () => {
  const redact = redactor(
    await secretsOfConfig({ registry: { ...base, username: 'u', password: 'pass-word' } }),
  );
  assert.equal(redact('u said pass-word to registry.example'), 'u said <redacted> to registry.example');
});
