// npm run bench:*, build:*, test:cluster: installs and builds what is missing, then runs one program on the
// pinned Node.
import { spawnSync } from 'node:child_process';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureInstalled, pinnedNode, root } from './ensure-installed.mjs';
import { testEnvironment } from './test-environment.mjs';

await ensureInstalled();
if (!(await ensureBuilt())) process.exit(1);
const args = process.argv.slice(2);
const env =
  args[0]?.startsWith('test/') && !args.some((arg) => arg.startsWith('bench/'))
    ? testEnvironment
    : process.env;
const run = spawnSync(pinnedNode, args, { cwd: root, stdio: 'inherit', env });
process.exitCode = run.status ?? 1;
