import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { removeClusterDirectory } from '../../embedded-cluster/daemon/remove-cluster-directory.ts';
import { stopDaemon } from '../../embedded-cluster/daemon/stop-daemon.ts';
import { blocksOf, runInShell } from '../cluster/support/page-commands.ts';
import { shapeOf } from '../line/readme-screens.ts';
import { checkout } from '../support/embedded-environment.ts';
import { mountsOf, processesOf } from '../support/machine.ts';

const skip =
  (process.getuid?.() !== 0 && 'needs root') ||
  (!has('kubectl') && 'needs kubectl') ||
  (!has('sysctl') && 'needs sysctl (package procps)');

function has(program: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$1"', 'sh', program]).status === 0;
}

test(
  'the commands of docs/deploying.md print the documented output, and leave nothing',
  { skip, timeout: 600_000 },
  async (t) => {
    const home = await realpath(await mkdtemp(join(tmpdir(), 'bosh-kubernetes-published-')));
    // The page's directory, in a separate checkout.
    const own = join(home, 'bosh-kubernetes', '.bosh-kubernetes');
    const cluster = join(own, 'cluster');
    await mkdir(own, { recursive: true });
    t.after(async () => {
      // Left by a failed run.
      await stopDaemon(cluster);
      await removeClusterDirectory(cluster);
      await rm(home, { recursive: true });
    });
    const page = await readFile(join(checkout, 'docs', 'deploying.md'), 'utf8');
    const commands = blocksOf(page).flatMap(({ commands: of }) => of);
    const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;

    const printed = await runInShell(
      commands.map(({ command }) => (command.startsWith('CLUSTER=') ? `CLUSTER='${cluster}'` : command)),
      {
        script: join(home, 'page.sh'),
        cwd: checkout,
        env: { PATH, NODE_COMPILE_CACHE, HOME: home, LANG: 'C.UTF-8', BOSH_KUBERNETES_HOME: own },
        signal: t.signal,
      },
    );

    const shape = (output: string): string => shapeOnPage(output, home);
    for (const [index, { command, output }] of commands.entries())
      assert.equal(shape(printed[index] ?? ''), shape(output), command);
    assert.deepEqual([await processesOf(home), await mountsOf(home)], [[], []]);
  },
);

/** Replaces what differs between runs. A line that is repeated is kept once. */
function shapeOnPage(output: string, home: string): string {
  return shapeOf(output.replaceAll(checkout, '/home/you/bosh-kubernetes').replaceAll(home, '/home/you'))
    .replaceAll(/\bpid \d+/gu, 'pid N')
    .replaceAll(/^(.+\n)\1+/gmu, '$1');
}
