// npm test: installs and builds what is missing, then runs the fast suite on the pinned Node.
// Arguments name other suites: folders, or files. `--long` stands for all `*.long.test.ts` (most take
// minutes; the other suites have a short test of each), which no folder stands for; `--crash` for all
// `*.crash.test.ts` and `--attack` for all `*.attack.test.ts` (attacks that once worked), wherever they lie.
// TESTS_AT_ONCE says how many files run at once.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureInstalled, pinnedNode, root } from './ensure-installed.mjs';
import { testEnvironment } from './test-environment.mjs';

await ensureInstalled();
if (!(await ensureBuilt())) process.exit(1);

const requested = process.argv.slice(2);
const beside = [
  'src',
  'embedded-cluster',
  'bench',
  'scripts',
  'test/ci',
  'test/cloud-foundry',
  'test/contract',
  'test/cpi',
  'test/director',
  'test/model',
].flatMap((path) => testsBelow(path));
const isOwnSuite = (path) => /\.(crash|long|attack)\.test\.ts$/.test(path);
const isLong = (path) => path.endsWith('.long.test.ts');
const files =
  requested.length === 0
    ? beside.filter((path) => !isOwnSuite(path))
    : requested.flatMap((word) => testsOf(word));
if (files.length === 0) {
  console.error(`there is no test below ${requested.join(', ')}`);
  process.exit(1);
}
// V8 begins with a heap of a few MiB and collects all of it whenever a stream's buffers have filled it: a
// fifth of these tests' CPU time. Files that run at once leave no core for threads that help.
const heap = ['--initial-old-space-size=400', '--min-semi-space-size=16', '--single-threaded-gc'];
const scratch = mkdtempSync(join(tmpdir(), 'bosh-kubernetes-tests-'));
const resultsPath = join(scratch, 'results');
const reporters = [
  ['spec', 'stdout'],
  ['./scripts/test-results.mjs', resultsPath],
];
const flags = reporters.flatMap(([name, destination]) => [
  `--test-reporter=${name}`,
  `--test-reporter-destination=${destination}`,
]);
const run = spawnSync(
  pinnedNode,
  [
    ...heap,
    '--import',
    join(root, 'scripts', 'before-tests.mjs'),
    '--test',
    `--test-concurrency=${process.env.TESTS_AT_ONCE ?? 2}`,
    '--test-timeout=600000',
    ...flags,
    ...files,
  ],
  {
    cwd: root,
    stdio: 'inherit',
    env: testEnvironment,
  },
);
process.exitCode = run.status ?? 1;
const line = existsSync(resultsPath) ? readFileSync(resultsPath, 'utf8').trim() : '';
rmSync(scratch, { recursive: true });
const { passed, failed, cancelled, skipped, files: failedFiles } = JSON.parse(line || '{"files":[]}');
// CI runs the files that failed again when nothing else runs
if (process.env.FAILED_TEST_FILES !== undefined)
  writeFileSync(process.env.FAILED_TEST_FILES, failedFiles.map((file) => `${file}\n`).join(''));
if (passed === undefined) {
  console.error('the tests ended before they were counted');
  process.exitCode ||= 1;
} else {
  console.log(`${passed} passed, ${failed + cancelled} failed, ${skipped} skipped`);
}

function testsOf(word) {
  if (word === '--long') return [...beside, ...testsBelow('test/crash')].filter(isLong);
  if (word === '--crash' || word === '--attack')
    return beside.filter((path) => path.endsWith(`.${word.slice(2)}.test.ts`));
  return testsBelow(word).filter((path) => path === word || !isLong(path));
}

function testsBelow(path) {
  const absolute = join(root, path);
  if (statSync(absolute).isFile()) return path.endsWith('.test.ts') ? [path] : [];
  return readdirSync(absolute)
    .sort()
    .flatMap((name) => testsBelow(join(path, name)));
}
