#!/usr/bin/env node
// Installs and builds if needed, then starts the pinned Node: see scripts/ensure-*.mjs. Commands that inspect
// or end a running cluster use the previous build, because a tree that does not build, a killed build, or a
// machine without a network must not prevent a cluster from being stopped. If no cluster was ever started,
// these commands install nothing.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, ensureBuilt } from '../scripts/ensure-built.mjs';
import {
  cacheEnvironment,
  ensureInstalled,
  pinnedNode,
  root,
  wasInstalled,
} from '../scripts/ensure-installed.mjs';
import { runMain } from './run-main.mjs';

const [command, ...args] = process.argv.slice(2);
const isReady =
  ['stop', 'status', 'destroy', '__complete'].includes(command) && wasInstalled() && existsSync(commandLine);
// A shell that completes a command line waits for it, and shows no progress.
if (!isReady && command === '__complete') process.exit(0);
// Options, and for status also KUBECONFIG, may name another cluster.
const isOfHere =
  args.every((word) => !word.startsWith('-')) && (command === 'stop' || !process.env.KUBECONFIG);
if (!isReady && isOfHere && ['stop', 'status'].includes(command)) {
  const home = process.env.BOSH_KUBERNETES_HOME || join(root, '.bosh-kubernetes');
  if (!existsSync(join(home, 'cluster'))) {
    console.log(
      command === 'stop' ? 'Not running.' : "There is no embedded cluster here; 'npm start' makes one.",
    );
    process.exit(command === 'stop' ? 0 : 3);
  }
}
if (!isReady) await ensureInstalled();
// The cluster starts while the CPI is built and packed, but not with arguments that `up` may refuse.
const isPlain = command === 'up' && args.length === 1 && existsSync(args[0]);
const beside = isPlain ? ['cluster', 'start'] : [];
if (!isReady && !(await ensureBuilt(beside))) {
  console.error('bosh-kubernetes: the build failed; its output is above');
  process.exit(1);
}
// Most of the time of a short command is compilation, so Node caches the compiled code.
runMain(pinnedNode, commandLine, { ...cacheEnvironment(), ...process.env });
