// npm test: installs what is missing, then runs every fast suite on the pinned Node. Arguments replace the default patterns.
import { spawnSync } from 'node:child_process';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureInstalled, pinnedNode, root } from './ensure-installed.mjs';

ensureInstalled();
if (!ensureBuilt()) process.exit(1);
const patterns = process.argv.slice(2);
const run = spawnSync(
  pinnedNode,
  [
    '--test',
    '--test-concurrency=2',
    '--test-timeout=300000',
    ...(patterns.length > 0
      ? patterns
      : ['src/**/*.test.ts', 'scripts/**/*.test.ts', 'test/contract/**/*.test.ts']),
  ],
  { cwd: root, stdio: 'inherit' },
);
process.exitCode = run.status ?? 1;
