import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { brokenLinks } from './broken-links.ts';

test('links, anchors, loaded files and headings of a built site are checked', (t) => {
  const site = mkdtempSync(join(tmpdir(), 'broken-links-'));
  t.after(() => rmSync(site, { recursive: true }));
  mkdirSync(join(site, 'docs'));
  writeFileSync(
    join(site, 'index.html'),
    `<link href="/style.css" rel="stylesheet"><link href="data:," rel="icon"><script src="https://cdn.example/x.js"></script><h2 id="start">Start</h2>
     <a href="/docs/a.html#one-two">A</a> <a class="x" href="docs/">docs</a> <a href="https://bosh.io/">BOSH</a>
     <a href="/docs/b.html">B</a> <a href="./docs/a.html#three">C</a> <a href="#start">D</a>`,
  );
  writeFileSync(join(site, 'style.css'), '');
  writeFileSync(join(site, 'docs/index.html'), '<a href="../index.html#gone">A</a> <img src="picture.png">');
  writeFileSync(join(site, 'docs/a.html'), '<h1 id="one-two">One two</h1>');
  const pages = new Map([
    ['index.md', '## Start'],
    ['docs/a.md', '# One_two'],
  ]);
  assert.deepEqual(brokenLinks(site, pages).toSorted(), [
    'docs/a.html: no heading has the anchor one_two',
    'docs/index.html: ../index.html#gone leads to nothing',
    'docs/index.html: picture.png leads to nothing',
    'index.html: ./docs/a.html#three leads to nothing',
    'index.html: /docs/b.html leads to nothing',
    'index.html: https://cdn.example/x.js is loaded from another machine',
  ]);
});
