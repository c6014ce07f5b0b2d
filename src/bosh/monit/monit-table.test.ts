import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { parseMonit } from './parse-monit.ts';

interface Row {
  readonly clause: string;
  readonly kinds: readonly string[];
}

const docs = await readFile(join(import.meta.dirname, '../../../docs/agent.md'), 'utf8');

function rowsUnder(heading: string): readonly Row[] {
  const lines = docs.split('\n');
  const rows = lines.slice(lines.findIndex((line) => line.startsWith(`| ${heading} |`)) + 2);
  return rows
    .slice(
      0,
      rows.findIndex((line) => !line.startsWith('|')),
    )
    .map((line) => {
      const [, clause = '', kinds = ''] = /^\| `(.+?)` \| ([^|]*?) ?\|/.exec(line) ?? [];
      return { clause, kinds: kinds === '' ? [] : kinds.split(', ') };
    });
}

const checks: Readonly<Record<string, string>> = {
  process: 'check process x with pidfile /run/x.pid',
  file: 'check file x with path /x',
  host: 'check host x with address localhost',
};

/**
 * Returns monit files with the clause of a row: one in a check of each kind of the row, or one with only the
 * clause.
 */
function filesOf({ clause, kinds }: Row): readonly string[] {
  const start = clause.startsWith('start') ? '' : 'start program "/bin/x"';
  if (kinds.length === 0) return [clause.startsWith('check') ? `${clause} ${start} group vcap` : clause];
  return kinds.map((kind) => `${checks[kind]}\n${start}\ngroup vcap\n${clause}`);
}

test('each clause of the table in docs/agent.md is read', () => {
  const rows = rowsUnder('clause');
  assert.ok(rows.length > 30);
  for (const row of rows)
    for (const file of filesOf(row)) assert.doesNotThrow(() => parseMonit(file, 'job'), file);
});

test('each clause that docs/agent.md lists as refused is refused by its name', () => {
  const rows = rowsUnder('refused');
  assert.ok(rows.length > 20);
  for (const row of rows) {
    for (const file of filesOf(row)) {
      const line = file.split('\n').findIndex((text) => text.includes(row.clause)) + 1;
      assert.throws(
        () => parseMonit(file, 'job'),
        (error) =>
          isProductError(error, 'AGENT_NOT_SUPPORTED') &&
          error.message.startsWith(`job 'job': monit line ${line}, column `) &&
          (error.message.includes(`'${row.clause}`) || error.message.includes("the pattern '")),
        file,
      );
    }
  }
});

test('a clause is read only in a check of a kind that the table names', () => {
  for (const row of rowsUnder('clause').filter(({ kinds }) => kinds.length > 0)) {
    for (const kind of Object.keys(checks).filter((one) => !row.kinds.includes(one))) {
      for (const file of filesOf({ ...row, kinds: [kind] }))
        assert.throws(() => parseMonit(file, 'job'), isProductError, file);
    }
  }
});
