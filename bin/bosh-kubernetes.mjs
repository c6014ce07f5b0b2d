#!/usr/bin/env node
// Installs and builds what is missing, then hands over to the pinned Node: see scripts/ensure-*.mjs. What looks at or ends what
// runs does with what was built before: a tree that does not build, a killed build, or a machine without a network must not keep
// a cluster from being stopped. Where nothing was ever started there is nothing to install for.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, ensureBuilt } from '../scripts/ensure-built.mjs';
import {
  compileCache,
  ensureInstalled,
  pinnedNode,
  root,
  wasInstalled,
} from '../scripts/ensure-installed.mjs';

const [command, ...words] = process.argv.slice(2);
const isReady = ['stop', 'status', 'destroy'].includes(command) && wasInstalled() && existsSync(commandLine);
// options name another cluster
const isOfHere = words.every((word) => !word.startsWith('-'));
if (!isReady && isOfHere && ['stop', 'status'].includes(command)) {
  const home = process.env.BOSH_KUBERNETES_HOME || join(root, '.bosh-kubernetes');
  if (!existsSync(join(home, 'cluster'))) {
    console.log(command === 'stop' ? 'Not running.' : 'Embedded cluster stopped; it was never started here.');
    process.exit(command === 'stop' ? 0 : 3);
  }
}
if (!isReady) await ensureInstalled();
// While the CPI is built and packed the cluster comes up; not for words that `up` may refuse.
const isPlain = command === 'up' && words.length === 1 && existsSync(words[0]);
const beside = isPlain ? ['cluster', 'start'] : [];
if (!isReady && !(await ensureBuilt(beside))) {
  console.error('bosh-kubernetes: the build failed; its output is above');
  process.exit(1);
}
const child = spawn(pinnedNode, [commandLine, ...process.argv.slice(2)], {
  stdio: 'inherit',
  // compiling is most of what a short command takes: Node keeps what it makes of it
  env: { NODE_COMPILE_CACHE: compileCache, ...process.env },
});
// The command ends at its next safe point; a later signal ends it at once, also where it computes and hears none
// (src/cli/interruption.ts has the same rule).
let first;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => {
    const now = performance.now();
    first ??= now;
    child.kill(signal !== 'SIGHUP' && now - first >= 500 ? 'SIGKILL' : signal);
  });
}
child.on('error', (error) => {
  console.error(`bosh-kubernetes: ${pinnedNode} could not be started: ${error.message}`);
  process.exitCode = 1;
});
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
});
