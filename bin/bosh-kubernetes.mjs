#!/usr/bin/env node
// Installs what is missing, then hands over to the pinned Node: see scripts/ensure-installed.mjs.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { ensureInstalled, pinnedNode, root } from '../scripts/ensure-installed.mjs';

ensureInstalled();
const child = spawn(pinnedNode, [join(root, 'src', 'cli', 'main.ts'), ...process.argv.slice(2)], { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('error', (error) => {
  console.error(`bosh-kubernetes: ${pinnedNode} could not be started: ${error.message}`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
