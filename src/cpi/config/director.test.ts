import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejection } from '../testing/rejection.ts';
import type { CpiConfig } from '../config.ts';
import { parseConfig } from '../config.ts';
import { redactor } from '../../errors/redact/redactor.ts';
import { secretsOf } from '../secrets-of.ts';

const base = { url: 'https://10.0.0.6:25555', client: 'cpi', client_secret: 'pass-word' };
const parse = (director: object, request: object = {}): CpiConfig['director'] =>
  parseConfig({ director }, { director: request }).director;

test('a director has a URL, a client and its secret; without any there is none', () => {
  assert.equal(parse({}), undefined);
  assert.equal(parse({ url: null, ca: null, client: null, client_secret: null }), undefined);
  assert.equal(parseConfig({}, {}).director, undefined);
  const known = { client: 'cpi', clientSecret: 'pass-word', ca: undefined };
  assert.deepEqual(parse(base), { ...known, url: base.url });
  const ca = '-----BEGIN CERTIFICATE-----one\n-----BEGIN CERTIFICATE-----two';
  assert.deepEqual(parse({ ...base, url: `${base.url}/`, ca }), { ...known, url: base.url, ca });
});

test('what cannot be meant is refused by name, and nothing of it is quoted', () => {
  for (const [changes, path] of [
    [{ url: undefined }, 'config.director needs url'],
    [{ client: undefined }, 'config.director needs url'],
    [{ client_secret: undefined }, 'config.director needs url'],
    [{ url: '10.0.0.6' }, 'config.director.url'],
    [{ url: 'http://10.0.0.6:25555' }, 'config.director.url has to be https'],
    [{ url: 'https://user:pass-word@10.0.0.6:25555' }, 'config.director.url'],
    [{ url: 'https://10.0.0.6:25555/deployments' }, 'config.director.url'],
    [{ url: 'https://10.0.0.6:25555?a=pass-word' }, 'config.director.url'],
    [{ client: 'a:b' }, 'config.director.client'],
    [{ client_secret: 7 }, 'config.director.client_secret'],
    [{ ca: 'pass-word' }, 'config.director.ca'],
    [{ insecure: true }, 'config.director has keys'],
  ] as const)
    assert.throws(
      () => parse({ ...base, ...changes }),
      (error) => {
        assert.doesNotMatch(String(error), /pass-word/u);
        rejection('INVALID_CONFIG')(error);
        assert.ok(String(error).includes(path), String(error));
        return true;
      },
    );
});

test('a later layer changes keys of it, but a secret never goes to another server', () => {
  assert.equal(parse(base, { client: 'other' })?.client, 'other');
  const registry = { url: 'https://registry.example', repository: 'bosh' };
  const both = parseConfig({ director: base, registry }, { director: { ...base, client_secret: 'new' } });
  assert.deepEqual([both.director?.clientSecret, both.registry?.repository], ['new', 'bosh']);
  assert.throws(() => parse(base, { url: 'https://else.example' }), /config\.director needs url/u);
});

test('one director makes all calls: a context of ours cannot name another', () => {
  assert.throws(
    () => parseConfig({ director: base, contexts: { east: { director: base } } }, {}, 'east'),
    /config\.contexts\.east has keys/u,
  );
});

test('the secret is one in messages', async () => {
  for (const secret of ['pass-word', 'abc']) {
    const redact = redactor(...(await secretsOf({ director: { ...base, client_secret: secret } })));
    assert.equal(redact(`cpi said ${secret} to 10.0.0.6`), 'cpi said <redacted> to 10.0.0.6');
  }
});
