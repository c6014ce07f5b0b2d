import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { sitePages } from './site-pages.ts';

/** Writes a repository of these files, and returns its folder. */
function repository(t: TestContext, files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), 'site-pages-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

test('links lead to the pages of the site, whose start page is the index of the documentation', (t) => {
  const root = repository(t, {
    'README.md': 'See [docs](docs/README.md) and [disks](docs/cpi/disks.md#attach).',
    'docs/README.md': '[CPI](cpi/README.md), [the same](cpi), [start](../README.md), [BOSH](https://bosh.io)',
    'docs/cpi/README.md': '[all](../README.md#start), [here](#methods)',
    'docs/cpi/disks.md': '```\n[no link](nothing.md)\n```\n[CPI](README.md)',
  });
  const pages = sitePages(root);
  assert.match(pages.get('README.md') ?? '', /\]\(index\.md\) and .*\]\(docs\/cpi\/disks\.md#attach\)/u);
  assert.match(
    pages.get('index.md') ?? '',
    /\[CPI\]\(docs\/cpi\/index\.md\), \[the same\]\(docs\/cpi\/index\.md\), \[start\]\(README\.md\), \[BOSH\]\(https:/u,
  );
  assert.match(
    pages.get('docs/cpi/index.md') ?? '',
    /\]\(\.\.\/\.\.\/index\.md#start\), \[here\]\(#methods\)/u,
  );
  assert.match(
    pages.get('docs/cpi/disks.md') ?? '',
    /\[no link\]\(nothing\.md\)\n```\n\[CPI\]\(index\.md\)/u,
  );
});

test('a file or a folder to which a page links is a page of the site', (t) => {
  const root = repository(t, {
    'docs/README.md': '[role](../manifests/role.yaml), [records](records)',
    'docs/records/1.md': '# One',
    'docs/records/note.txt': 'a note',
    'docs/records/more/2.txt': 'not shown',
    'manifests/role.yaml': 'kind: Role\n',
  });
  const pages = sitePages(root);
  assert.match(
    pages.get('index.md') ?? '',
    /\(manifests\/role\.yaml\.md\), \[records\]\(docs\/records\/index\.md\)/u,
  );
  assert.match(
    pages.get('manifests/role.yaml.md') ?? '',
    /^# manifests\/role\.yaml\n\n````yaml\nkind: Role\n````$/mu,
  );
  const folder = pages.get('docs/records/index.md') ?? '';
  assert.match(folder, /- \[One\]\(1\.md\)\n- `more\/`\n- \[note\.txt\]\(note\.txt\.md\)/u);
  assert.ok(pages.has('docs/records/note.txt.md'));
});

test('a link that leads to nothing is refused with its page', (t) => {
  const root = repository(t, { 'docs/README.md': '[role](../manifests/role.yaml)' });
  assert.throws(
    () => sitePages(root),
    /docs\/README\.md: the link \.\.\/manifests\/role\.yaml leads to nothing/u,
  );
});
