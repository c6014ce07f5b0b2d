import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkout } from '../support/embedded-line.ts';
import type { SuiteGroup } from './suites.ts';

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const none: TestCounts = { passed: 0, failed: 0, skipped: 0 };

/**
 * Runs groups of test files with node:test, by `run`, which resolves with an exit code, and resolves with what came of all.
 * Where the variable FAILED_TEST_FILES names a file, the files in which a test failed are added to it, a line each.
 */
export async function runTests(
  groups: readonly SuiteGroup[],
  run: (command: readonly string[]) => Promise<number>,
): Promise<TestCounts> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-tests-'));
  try {
    let total = none;
    for (const group of groups) total = sum(total, await runGroup(group, directory, run));
    return total;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function runGroup(
  { files, concurrency }: SuiteGroup,
  directory: string,
  run: (command: readonly string[]) => Promise<number>,
): Promise<TestCounts> {
  const [counts, failed] = [join(directory, 'counts'), join(directory, 'failed')];
  const reporters = [
    ['spec', 'stdout'],
    [join(checkout, 'scripts', 'test-counts.mjs'), counts],
    [join(checkout, 'scripts', 'failed-files.mjs'), failed],
  ] as const;
  const flags = reporters.flatMap(([name, place]) => [
    `--test-reporter=${name}`,
    `--test-reporter-destination=${place}`,
  ]);
  const limits = [`--test-concurrency=${concurrency}`, '--test-timeout=900000'];
  // a run that dies before its reporters open them leaves these
  for (const path of [counts, failed]) await writeFile(path, '');
  const code = await run([process.execPath, '--test', ...limits, ...flags, ...files]);
  const { FAILED_TEST_FILES: wanted = '' } = process.env;
  const named = await readFile(failed, 'utf8');
  const bad = code !== 0 && named === '' ? files.map((file) => `${file}\n`).join('') : named;
  if (wanted !== '') await appendFile(wanted, bad);
  const line = (await readFile(counts, 'utf8')).trim();
  if (line === '') return { ...none, failed: 1 };
  const {
    passed,
    failed: wrong,
    cancelled,
    skipped,
  } = JSON.parse(line) as TestCounts & { cancelled: number };
  return { passed, skipped, failed: code !== 0 && wrong + cancelled === 0 ? 1 : wrong + cancelled };
}

const sum = (one: TestCounts, other: TestCounts): TestCounts => ({
  passed: one.passed + other.passed,
  failed: one.failed + other.failed,
  skipped: one.skipped + other.skipped,
});
