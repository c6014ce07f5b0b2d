// npm run check: types, lint, format. A warning fails it, because a new one is not noticed among old ones.
// The tools are installed into tools/ on first use; `npm start` does not need them.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ensureInstalled, root } from './ensure-installed.mjs';

await ensureInstalled();
const tools = join(root, 'tools');
const bin = join(tools, 'node_modules', '.bin');
if (!existsSync(join(bin, 'oxlint'))) {
  const args = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'];
  run('npm', ['install', ...args], tools);
}
if (process.argv.includes('--format')) {
  run(join(bin, 'oxfmt'), []);
} else {
  run(join(root, 'node_modules', '.bin', 'tsc'), []);
  run(join(bin, 'oxlint'), ['--type-aware', '--deny-warnings', '--format=unix']);
  run(join(bin, 'oxfmt'), ['--check']);
}

function run(program, args, directory = root) {
  const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
  const done = spawnSync(program, args, { cwd: directory, stdio: 'inherit', env });
  if (done.status !== 0) process.exit(done.status ?? 1);
}
