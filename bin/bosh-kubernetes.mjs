#!/usr/bin/env node
// Installs and builds what is missing, then hands over to the pinned Node: see scripts/ensure-*.mjs.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureBuilt } from '../scripts/ensure-built.mjs';
import { ensureInstalled, pinnedNode, root } from '../scripts/ensure-installed.mjs';

ensureInstalled();
if (!ensureBuilt()) {
  console.error('bosh-kubernetes: the build failed; its output is above');
  process.exit(1);
}
const child = spawn(pinnedNode, [join(root, 'src', 'cli', 'main.ts'), ...process.argv.slice(2)], {
  stdio: 'inherit',
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`bosh-kubernetes: ${pinnedNode} could not be started: ${error.message}`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
