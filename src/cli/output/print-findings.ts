import type { Finding } from '../../doctor/finding.ts';
import { printTable, type Terminal } from './terminal.ts';

const tones = { ok: 'ok', warning: 'warning', failed: 'failed', unknown: 'warning' } as const;
const columns = ['Subject', 'Check', 'Result', 'Detail'];

/**
 * Prints the findings as a table, and below it what to do about those that are not ok, each remedy once. With
 * `--json` each row also has `needed_by` and `remedy`.
 */
export function printFindings(terminal: Terminal, findings: readonly Finding[]): void {
  const isWide = terminal.structured !== undefined;
  printTable(terminal, {
    content: 'checks',
    header: isWide ? [...columns, 'Needed by', 'Remedy'] : columns,
    rows: findings.map(({ subject, check, result, detail, neededBy, remedy }) => [
      ...[subject, check, { text: result, tone: tones[result] }, detail],
      ...(isWide ? [neededBy, remedy] : []),
    ]),
  });
  const remedies = isWide ? [] : remediesOf(findings);
  if (remedies.length > 0) terminal.out(`What to do:\n${remedies.map((line) => `- ${line}\n`).join('')}`);
}

/**
 * Returns two lines for each remedy: the checks and what needs them, and the remedy, which may be a
 * command.
 */
export function remediesOf(findings: readonly Finding[]): string[] {
  const groups = Map.groupBy(
    findings.filter(({ result }) => result !== 'ok'),
    ({ check, result, neededBy, remedy }) => JSON.stringify([check, result, neededBy, remedy]),
  );
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const subjects = group.map(({ subject }) => subject).join(', ');
    return `${first.check} (${subjects}): ${first.result}, needed by ${first.neededBy}\n  ${first.remedy}`;
  });
}
