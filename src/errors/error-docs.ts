import { errorTable } from './error-table.ts';

/**
 * Returns docs/errors.md, generated from the table. `node scripts/run.mjs scripts/write-error-docs.ts` writes
 * the page; a test checks that it is current.
 */
export function errorDocs(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { boshType, okToRetry, meaning }]) =>
      `| \`${code}\` | ${meaning} | \`${boshType}\` | ${okToRetry ? 'yes' : 'no'} |`,
  );
  return [
    '# Errors',
    '',
    'Every error that a user can meet has a stable code, printed in brackets behind its message. The last two columns are what a',
    'BOSH director or CLI reads when the CPI reports it.',
    '',
    '| code | meaning | BOSH type | retry |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}
