import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitColumns } from './fit-columns.ts';
import type { Problem } from '../../inventory/problem.ts';
import { formatAge } from './format-age.ts';
import { statusLines } from './status-tables.ts';

test('columns are left out by their rank until the rows fit, and the most important stay', () => {
  const columns = [
    { title: 'A', rank: 0, cell: () => 'x'.repeat(10) },
    { title: 'B', rank: 2, cell: () => 'x'.repeat(5) },
    { title: 'C', rank: 1, cell: () => 'x'.repeat(5) },
  ];
  const titles = (width: number): string =>
    fitColumns(columns, ['row'], width)
      .map(({ title }) => title)
      .join('');
  assert.deepEqual([24, 23, 17, 16, 1].map(titles), ['ABC', 'AC', 'AC', 'A', 'A']);
  assert.equal(titles(Infinity), 'ABC');
});

test('problems come first, with a tone, broken at blanks, and a cid is never broken', () => {
  const problem = { kind: 'VM', object: 'vm-0123456789', name: 'dep/web/0', severity: 'error' } as const;
  const problems: Problem[] = [
    { ...problem, problem: 'does not run\n', next: 'look at it' },
    { ...problem, name: undefined, severity: 'info', problem: 'is new', next: 'wait' },
  ];
  const inventory = { vms: [], disks: [], snapshots: [], networks: [] };
  const view = { inventory, problems, unread: [], unknownNamespaces: [], now: 0 };
  assert.deepEqual(statusLines(view, { width: 24, details: false }).slice(0, 7), [
    { text: "VM 'vm-0123456789'", tone: 'failed' },
    { text: '    (dep/web/0): does', tone: 'failed' },
    { text: String.raw`    not run\u000a`, tone: 'failed' },
    '    next: look at it',
    { text: "VM 'vm-0123456789':", tone: 'warning' },
    { text: '    is new', tone: 'warning' },
    '    next: wait',
  ]);
});

test('on a terminal that is narrower than the most important columns, each is a line', () => {
  const name = { deployment: 'a-long-deployment', instance: 'postgres/0', id: 'i', group: 'postgres' };
  const vm = {
    ...{ cid: 'vm-1', name: { ...name, isOfCreateEnv: false }, state: 'ImagePullBackOff', restarts: 0 },
    ...{ node: 'node-1', addresses: [], disks: [], createdAt: '', agentId: 'a' },
    ...{ pod: undefined, secret: undefined },
  };
  const inventory = { vms: [vm], disks: [], snapshots: [], networks: [] };
  const view = { inventory, problems: [], unread: [], unknownNamespaces: [], now: 0 };
  assert.deepEqual(statusLines(view, { width: 40, details: false }).slice(0, 3), [
    'Instance  a-long-deployment/postgres/0',
    'Pod       ImagePullBackOff',
    '',
  ]);
});

test('ages are short, and as exact as they need to be', () => {
  const age = (seconds: number): string =>
    formatAge('2026-01-01T00:00:00Z', Date.UTC(2026, 0, 1) + seconds * 1000);
  const ages = [-5, 119, 120, 10_799, 12_000, 100_000, 200_000, 400 * 86_400].map(age);
  assert.deepEqual(ages, ['0s', '119s', '2m', '179m', '3h20m', '27h', '2d7h', '400d']);
  assert.equal(formatAge('', 0), '-');
});
