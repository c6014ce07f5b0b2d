import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchDirectory } from '../testing/scratch.ts';
import { parseYaml, readGivenYaml, readYaml } from './parse-yaml.ts';

const parse = (text: string) => parseYaml(text, 'm.yml', 'MANIFEST_INVALID');

// The library compares each key with all previous ones. For 60,000 keys that takes longer than the test's
// timeout.
test('a map of 60,000 keys is read in linear time, and a duplicate key is found', { timeout: 60_000 }, () => {
  const keys = Array.from({ length: 60_000 }, (_, index) => `k${index}: 1`);
  const map = parse(keys.join('\n'));
  assert.ok(map.kind === 'map' && map.entries.length === 60_000);
  assert.throws(() => parse([...keys, 'k7: 2'].join('\n')), {
    code: 'MANIFEST_INVALID',
    message: 'm.yml:60001:1: Map keys must be unique',
  });
});

// The library searches the whole document for the anchor of each alias.
test('20,000 anchors with an alias of each are read in linear time', { timeout: 60_000 }, () => {
  const pairs = Array.from({ length: 20_000 }, (_, index) => `- &a${index} x\n- *a${index}`);
  const list = parse(pairs.join('\n'));
  assert.ok(list.kind === 'list' && list.items.length === 40_000);
});

test('nesting beyond the limit is refused in every notation', { timeout: 60_000 }, () => {
  const chain = Array.from({ length: 40 }, (_, index) => {
    const inner = index === 0 ? 'x' : `*a${index - 1}`;
    return `- &a${index} ${'['.repeat(100)}${inner}${']'.repeat(100)}`;
  });
  for (const text of [
    '['.repeat(4_000_000),
    '{a: '.repeat(1_000_000),
    '- '.repeat(100_000),
    '? '.repeat(100_000),
  ])
    assert.throws(() => parse(text), {
      code: 'MANIFEST_INVALID',
      message: /^m\.yml: it is nested more than/,
    });
  assert.throws(() => parse(chain.join('\n')), { code: 'MANIFEST_INVALID', message: /nested more than/ });
});

test(
  'the error for a text with very many nodes, or with very many errors, is short',
  { timeout: 60_000 },
  () => {
    assert.throws(() => parse('-\n'.repeat(1_500_000)), { code: 'MANIFEST_INVALID', message: /parts$/ });
    assert.throws(
      () => parse('}\n'.repeat(10_000)),
      ({ message }: Error) => message.split('\n').length === 21,
    );
  },
);

test(
  'a manifest that is a pipe or a link to /dev/zero is refused at once',
  { timeout: 60_000 },
  async (t) => {
    const directory = await scratchDirectory(t);
    const [endless, pipe] = [join(directory, 'endless'), join(directory, 'pipe')];
    await symlink('/dev/zero', endless);
    execFileSync('mkfifo', [pipe]);
    for (const path of [endless, pipe])
      await assert.rejects(readYaml(path, 'RELEASE_INVALID'), {
        code: 'FILE_NOT_FOUND',
        message: /not a regular file/,
      });
    await assert.rejects(readGivenYaml(endless), {
      code: 'MANIFEST_INVALID',
      message: /larger than 4 MiB/,
    });
  },
);
