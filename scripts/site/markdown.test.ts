import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchorsOf, linksOf, replaceLinks } from './markdown.ts';

test('anchors are those of GitHub: punctuation is removed, and a repeated heading gets a number', () => {
  const page =
    '# `cpi` of a VM (new)\n## cloud_properties of [a disk](disks.md#x)\n## Errors\n```\n# no heading\n```\n## Errors';
  assert.deepEqual(anchorsOf(page), ['cpi-of-a-vm-new', 'cloud_properties-of-a-disk', 'errors', 'errors-1']);
});

test('links in code blocks are no links', () => {
  const page = 'A [link](a.md).\n\n````md\n```\n[code](b.md)\n```\n````\n\n![picture](c.svg)\n';
  assert.deepEqual(linksOf(page), ['a.md', 'c.svg']);
  assert.equal(
    replaceLinks(page, (link) => `x/${link}`),
    page.replace('a.md', 'x/a.md').replace('c.svg', 'x/c.svg'),
  );
});
