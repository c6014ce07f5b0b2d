import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cpiRecordStart } from '../bosh/cpi-record.ts';
import { type LoggedCalls, readCalls } from './read-calls.ts';
import { renderPage } from './render/page.ts';
import { renderSvg } from './render/svg.ts';
import { recordLine, startOfDay } from './testing/record-line.ts';
import { parseTraceCall } from './trace-call.ts';

const read = (text: string): Promise<LoggedCalls> =>
  readCalls(
    (async function* () {
      yield await Promise.resolve(text);
    })(),
  );

/** Checks that all markup is of our own templates, and that XML allows every character. */
function assertOwnMarkup(page: string): void {
  const comment = '<!-- bosh-kubernetes trace -->';
  const withoutStyle = page.replaceAll(/<style>[^<]*<\/style>/gu, '').replaceAll(comment, '');
  const attribute = ` (?!on|href|src|style)[a-zA-Z0-9-]+="[^"<>]*"`;
  const names =
    'a|body|br|details|div|g|h1|h2|head|html|line|main|meta|p|rect|span|summary|svg|table|tbody|td|text|th|thead|title|tr';
  const rest = withoutStyle
    .replace(/^<!doctype html>/u, '')
    .replaceAll(new RegExp(`</?(?:${names})(?:${attribute})*/?>`, 'gu'), '');
  assert.doesNotMatch(rest, /[<>]/u);
  assert.doesNotMatch(rest, /&(?!(?:amp|lt|gt|quot|#39);)/u);
  assert.doesNotMatch(page, /[^\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u);
}

const hostile = [
  '</script><script>alert(1)</script>',
  '</title></svg><img src=x onerror=alert(1)>',
  '"><rect onload="x',
  "'&amp;&#x3c;",
  '<!-- --> ]]>',
  '\u001b[2J\u0000\u007f\u0085',
  '\u202egnp.exe\u2028',
  '\ud800 \ufffe \uffff',
];

test('no text of a log becomes markup of the picture or the page', async () => {
  const lines = hostile.flatMap((text, index) => [
    recordLine(index, 10, {
      ...{ method: text, cids: [text, `x:${text}`], request_id: text, result: text, message: text },
      phases: [{ kind: 'read', at: 0, ms: 10, of: text }],
    }),
    recordLine(index, 10, { message: text, result: 'Bosh::Clouds::CloudError' }),
  ]);
  const log = await read(lines.join('\n'));
  assert.equal(log.calls.length, lines.length);
  for (const text of hostile) assertOwnMarkup(renderPage(log, text));
  assertOwnMarkup(renderSvg(log.calls));
  assert.match(renderSvg(log.calls), /&lt;\/script&gt;&lt;script&gt;/u);
});

test('a record with wrong values is counted and not drawn', async () => {
  const phase = { kind: 'read', at: 0, ms: 1, of: 'pods' };
  const wrong: Record<string, unknown>[] = [
    ...[
      { start: 'yesterday' },
      { start: 7 },
      { start: '+275760-09-13T00:00:00.000Z' },
      { start: '0001-01-01' },
    ],
    ...[{ end: null }, { end: '2199-12-31T00:00:00Z' }],
    ...[{ method: 7 }, { cids: 'vm-1' }, { cids: [7] }, { result: '' }, { result: null }, { requests: [] }],
    ...[
      { requests: { reads: 1e300, writes: 0, execs: 0 } },
      { requests: { reads: -1, writes: 0, execs: 0 } },
    ],
    ...[{ phases: {} }, { phases: [null, 7] }, { phases: [{ ...phase, kind: '__proto__' }] }],
    ...[
      { phases: [{ ...phase, ms: 1e12 }] },
      { phases: [{ ...phase, at: -1 }] },
      { phases: [{ ...phase, n: 0.5 }] },
    ],
  ];
  const log = await read(wrong.map((values) => recordLine(0, 1, values)).join('\n'));
  assert.deepEqual([log.calls, log.unreadable], [[], wrong.length]);
});

test('a call that ends before it starts lasts 0 ms; phases outside of a call or over each other are cut', () => {
  const reversed = parseTraceCall(recordLine(5000, -4000, { phases: [] }));
  assert.deepEqual([reversed?.start, reversed?.ms], [startOfDay + 5000, 0]);
  const phases = [
    { kind: 'write', at: 50, ms: 500, of: '' },
    { kind: 'read', at: 10, ms: 60, of: '' },
    { kind: 'exec', at: 900, ms: 10, of: '' },
  ];
  const cut = parseTraceCall(recordLine(0, 100, { phases }))?.phases.map(({ kind, at, ms }) => [
    kind,
    at,
    ms,
  ]);
  assert.deepEqual(cut, [
    ['read', 10, 60],
    ['write', 70, 30],
    ['exec', 100, 0],
  ]);
  if (reversed !== undefined) assertOwnMarkup(renderSvg([reversed]));
});

test('lines of megabytes are skipped without keeping them, and a record after them is found', async () => {
  const megabyte = 'x'.repeat(1024 * 1024);
  const log = await readCalls(
    (async function* () {
      yield `${cpiRecordStart}1,"method":"`;
      for (let count = 0; count < 40; count += 1) yield await Promise.resolve(megabyte);
      yield `"}\n${recordLine(0, 1)}\n${megabyte}`;
    })(),
  );
  assert.deepEqual([log.calls.length, log.unreadable], [1, 1]);
});

test('any text can be read, and any record that is read can be drawn', async () => {
  const value = fc.oneof(fc.jsonValue(), fc.constantFrom(...hostile));
  const record = fc.record(
    { method: value, cids: value, result: value, message: value },
    { requiredKeys: [] },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(record, fc.string())), async (items) => {
      const lines = items.map((item) =>
        typeof item === 'string' ? `${cpiRecordStart}${item}` : recordLine(0, 1, item),
      );
      const log = await read(lines.join('\n'));
      if (log.calls.length > 0) assertOwnMarkup(renderPage(log, 'log'));
    }),
    { numRuns: 100 },
  );
});
