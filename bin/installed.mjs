#!/usr/bin/env node
// The command of the npm package, which contains everything built: it installs and builds nothing.
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fail } from '../scripts/fail.mjs';
import { runMain } from './run-main.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Returns the path of the pinned Node, a package that npm may hoist. If it is missing, ends the process with
 * a message.
 */
function pinnedNode() {
  const { version, optionalDependencies: pinned } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  );
  const name = `node-${process.platform}-${process.arch}`;
  const platforms = Object.keys(pinned).map((each) => each.replace(/^node-/, ''));
  if (pinned[name] === undefined)
    return fail(`runs on ${platforms.join(' and ')}; this is ${process.platform}-${process.arch}`);
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)), 'bin', 'node');
  } catch (error) {
    if (error.code !== 'MODULE_NOT_FOUND') throw error;
    return fail(
      `the package ${name} ${pinned[name]} is missing, the Node that runs bosh-kubernetes ${version}. npm leaves it out, without an ` +
        'error, if it does not reach its registry, with --omit=optional, or if node_modules was made on another platform. With a ' +
        "registry, run 'npm install --include=optional' in the directory of node_modules, or your 'npm install --global' again. " +
        `Without one, follow 'Without a network' in ${join(root, 'docs', 'installing.md')}`,
    );
  }
}

// Most of the time of a short command is compilation, so Node caches the compiled code, in this package, with
// which npm removes it. npm could not remove the files of another user.
const isOwner = statSync(root).uid === process.getuid?.();
const cache = isOwner ? { NODE_COMPILE_CACHE: join(root, '.cache') } : {};
runMain(pinnedNode(), join(root, 'dist', 'cli', 'main.mjs'), { ...cache, ...process.env });
