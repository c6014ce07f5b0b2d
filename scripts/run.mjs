// npm run bench:*, build:*, test:cluster: installs and builds what is missing, then runs one program on the pinned Node.
import { spawnSync } from 'node:child_process';
import { ensureBuilt } from './ensure-built.mjs';
import { ensureInstalled, pinnedNode, root } from './ensure-installed.mjs';

ensureInstalled();
if (!ensureBuilt()) process.exit(1);
const run = spawnSync(pinnedNode, process.argv.slice(2), { cwd: root, stdio: 'inherit' });
process.exitCode = run.status ?? 1;
