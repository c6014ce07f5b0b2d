import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkUrlTag } from './url-tag.ts';

const manifest = (url?: string) => ({
  tags: url === undefined ? {} : { url },
  tagPlaces: { url: '/m.yml:7:8: tags.url' },
});

test("a tag 'url' that is no URL is a fault of the manifest, with its place", () => {
  for (const url of ['5', '', 'no url', 'localhost:8080', '127.0.0.1:8080', 'http://'])
    assert.throws(
      () => checkUrlTag(manifest(url)),
      { code: 'MANIFEST_INVALID', message: /^\/m\.yml:7:8: tags\.url: / },
      url,
    );
});

test('any URL, and none, is fine', () => {
  for (const url of [
    undefined,
    'http://127.64.0.10:8080/',
    'https://[fd00::1]',
    'ssh://host',
    'nats://10.0.0.6:4222',
  ])
    assert.doesNotThrow(() => checkUrlTag(manifest(url)), url);
});
