import { mkdtemp, readFile, rm, writeFile, appendFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asTestsRun } from '../../embedded-cluster/testing/as-tests-run.ts';
import { checkout } from '../support/embedded-environment.ts';
import type { SuiteGroup } from './suites.ts';

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The line of scripts/test-results.mjs. */
interface TestResults extends TestCounts {
  readonly cancelled: number;
  readonly files: readonly string[];
}

export const none: TestCounts = { passed: 0, failed: 0, skipped: 0 };

export interface TestRun {
  /** Runs a command and returns its exit code. */
  readonly run: (command: readonly string[]) => Promise<number>;
  /** Print the output of a group only when it has ended, because other lanes write at the same time. */
  readonly isBeside: boolean;
}

/**
 * Runs groups of test files with node:test, one group after the other, and returns the sum of the results.
 * Files with a failed test are appended, one per line, to the file of the variable FAILED_TEST_FILES, if it
 * is set.
 */
export async function runTests(groups: readonly SuiteGroup[], testRun: TestRun): Promise<TestCounts> {
  const directory = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-tests-'));
  try {
    let total = none;
    for (const group of groups) total = sumOf(total, await runGroup(group, directory, testRun));
    return total;
  } finally {
    await rm(directory, { recursive: true });
  }
}

async function runGroup(
  { files, concurrency }: SuiteGroup,
  directory: string,
  { run, isBeside }: TestRun,
): Promise<TestCounts> {
  const [output, results] = [join(directory, 'said'), join(directory, 'results')];
  const reporters = [
    ['spec', isBeside ? output : 'stdout'],
    [join(checkout, 'scripts', 'test-results.mjs'), results],
  ] as const;
  const flags = reporters.flatMap(([name, path]) => [
    `--test-reporter=${name}`,
    `--test-reporter-destination=${path}`,
  ]);
  const limits = [`--test-concurrency=${concurrency}`, '--test-timeout=900000'];
  // If a run dies before its reporters open these files, they are empty.
  for (const path of [output, results]) await writeFile(path, '');
  const code = await run([
    ...[process.execPath, ...asTestsRun, '--test'],
    ...[...limits, ...flags, ...files],
  ]);
  process.stdout.write(await readFile(output, 'utf8'));
  const line = (await readFile(results, 'utf8')).trim();
  const { files: named = [], ...counts } = JSON.parse(line || '{}') as Partial<TestResults>;
  await addFailedFiles(code !== 0 && named.length === 0 ? files : named);
  const { passed, failed = 0, cancelled = 0, skipped = 0 } = counts;
  if (passed === undefined) return { ...none, failed: 1 };
  return { passed, skipped, failed: code !== 0 && failed + cancelled === 0 ? 1 : failed + cancelled };
}

/** Returns the sum of both. */
export const sumOf = (one: TestCounts, other: TestCounts): TestCounts => ({
  passed: one.passed + other.passed,
  failed: one.failed + other.failed,
  skipped: one.skipped + other.skipped,
});

/**
 * Appends test files to those that CI runs again, one per line, in the file of the variable
 * FAILED_TEST_FILES, if it is set.
 */
export async function addFailedFiles(files: readonly string[]): Promise<void> {
  const { FAILED_TEST_FILES: failedFiles = '' } = process.env;
  if (failedFiles !== '') await appendFile(failedFiles, files.map((file) => `${file}\n`).join(''));
}
