import assert from 'node:assert/strict';
import { test } from 'node:test';
import { batchesOf } from './batches.ts';
import { compareDigests, parsePromised } from './promised.ts';
import { parseReport } from './report.ts';
import { describeVerdict, judge } from './verdict.ts';

const spec = (leaf: string, state: string, extra: object = {}): object => ({
  ContainerHierarchyTexts: ['[sig-x] Group'],
  LeafNodeType: 'It',
  LeafNodeText: leaf,
  State: state,
  RunTime: 2e9,
  ...extra,
});

const report = JSON.stringify([
  {
    SpecReports: [
      { ...spec('', 'passed'), LeafNodeType: 'SynchronizedBeforeSuite' },
      spec('passes', 'passed'),
      spec('fails', 'failed', { Failure: { Message: 'because\nof this' } }),
      spec('was not asked for', 'skipped'),
      spec('skips itself', 'skipped', { Failure: { Message: 'no such node' } }),
    ],
  },
]);

test('a report: what ran, with its whole name, and what skipped itself', () => {
  assert.deepEqual(
    parseReport(report).map(({ name, state, seconds }) => [name, state, seconds]),
    [
      ['[sig-x] Group passes', 'passed', 2],
      ['[sig-x] Group fails', 'failed', 2],
      ['[sig-x] Group skips itself', 'skipped', 2],
    ],
  );
});

test('a promised test that failed, skipped itself or did not run breaks the promise', () => {
  const asked = ['passes', 'fails', 'skips itself', 'is gone'].map((name) => `[sig-x] Group ${name}`);
  const verdict = judge(asked, parseReport(report), asked.slice(1));
  assert.deepEqual(
    verdict.failed.map(({ name }) => name.slice(14)),
    ['fails', 'skips itself', 'is gone'],
  );
  assert.deepEqual(verdict.unpromised, ['[sig-x] Group passes']);
  assert.match(describeVerdict(verdict), /\n1 passed, 3 failed, 0 skipped$/);
});

test('slow tests start first, those that must be alone are by themselves, none is lost', () => {
  const names = ['a', 'b [Serial]', 'c', 'd [Slow]', 'e'];
  assert.deepEqual(batchesOf(names, 2), {
    together: [['d [Slow]'], ['a', 'c'], ['e']],
    alone: ['b [Serial]'],
  });
});

test('the list has no test twice', () => {
  assert.deepEqual(parsePromised('a\n# b\n\nc [Slow]\n'), ['a', 'c [Slow]']);
  assert.throws(() => parsePromised('a\n# b\n\na\n'), /twice: a/);
});

test('a file of promises that was changed, is gone or has no digest is named', () => {
  const wanted = new Map([
    ['1.txt', 'a'],
    ['2.txt', 'b'],
    ['3.txt', 'c'],
  ]);
  const found = new Map([
    ['1.txt', 'a'],
    ['2.txt', 'changed'],
    ['4.txt', 'd'],
  ]);
  assert.deepEqual(compareDigests(wanted, found), [
    '2.txt was changed: if that is meant, write its digest into SHA256SUMS (sha256sum *.txt)',
    '3.txt is gone',
    '4.txt has no digest in SHA256SUMS',
  ]);
  assert.deepEqual(compareDigests(wanted, wanted), []);
});
