import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { removeClusterDirectory } from '../../embedded-cluster/daemon/remove-cluster-directory.ts';
import { stopDaemon } from '../../embedded-cluster/daemon/stop-daemon.ts';
import { checkout } from '../support/embedded-environment.ts';
import { runWell } from '../support/run.ts';
import { operatorEnvironment, removeRoles, shapeOnPage, withNamesHere } from './support/operator-shell.ts';
import { blocksOf, type PageCommand, runInShell } from './support/page-commands.ts';
import { suiteStemcell } from './support/suite-stemcell.ts';
import { testCluster, withoutNodes } from './test-cluster.ts';

const readBlocks = async (page: string) => blocksOf(await readFile(join(checkout, 'docs', page), 'utf8'));

/** Returns the commands of docs/your-cluster.md that make the deployment of docs/day-two.md. */
async function deployment(): Promise<PageCommand[]> {
  const blocks = await readBlocks('your-cluster.md');
  const section = (start: string): PageCommand[] =>
    blocks.flatMap(({ heading, commands }) => (heading.startsWith(start) ? commands : []));
  // A VM with this way to it may be on any node of these clusters.
  const byAddress = section('5.').filter(({ command }) => command.includes('fixed-address.yml'));
  const deploy = section('6.').filter(({ command }) => /^cat |^FLAGS|create-env/u.test(command));
  return [...['What you need', '1.', '2.'].flatMap(section), ...byAddress, ...deploy];
}

describe('docs/day-two.md', () => {
  test(
    'its commands print the shown output, and no disk loses its content',
    { ...withoutNodes, timeout: 600_000 },
    async (t) => {
      const blocks = await readBlocks('day-two.md');
      const commands = blocks.flatMap(({ commands: of }) => of);
      const { home, run } = await operatorShell(t);
      const [before, removal] = [await deployment(), 'bosh-kubernetes delete-env "$MANIFEST" "${FLAGS[@]}"'];

      const printed = await run([
        ...before.map(({ command }) => command),
        ...commands.map(({ command }) => command),
        removal,
      ]);

      const outputs = printed.slice(before.length);
      const shape = (output: string): string => shapeHere(output, home);
      for (const [index, { command, output }] of commands.entries())
        assert.equal(shape(outputs[index] ?? ''), shape(output), command);
      const since = outputs.flatMap((output) => /since (\S+)\.$/mu.exec(output)?.[1] ?? []);
      const [first, old] = [since[0], since.at(-2)];
      assert.deepEqual(since, [first, first, first, first, old, old]);
      assert.notEqual(first, old);
    },
  );
});

/**
 * Creates a home directory of an operator with what the pages need, and returns how to run commands
 * there.
 */
async function operatorShell(t: TestContext) {
  const cluster = testCluster();
  const home = await mkdtemp(join(tmpdir(), 'bosh-kubernetes-day-two-'));
  // The page's directory, in a separate checkout.
  const own = join(home, 'bosh-kubernetes', '.bosh-kubernetes');
  await mkdir(own, { recursive: true });
  t.after(async () => {
    const embedded = join(own, 'cluster');
    await stopDaemon(embedded);
    await removeClusterDirectory(embedded);
    await removeRoles(cluster);
    await rm(home, { recursive: true });
  });
  const { archive } = await suiteStemcell(cluster, 'privileged');
  await packNextRelease(home);
  const names: readonly (readonly [page: string, here: string])[] = [
    ['CLUSTER=.bosh-kubernetes/cluster', `CLUSTER='${join(own, 'cluster')}'`],
    ['$FOLDER/stemcell/stemcell.tgz', archive],
  ];
  const here = (command: string): string =>
    names.reduce((text, [page, name]) => text.replaceAll(page, name), withNamesHere(command));
  const env = { ...operatorEnvironment(cluster, home), BOSH_KUBERNETES_HOME: own };
  const options = { script: join(home, 'page.sh'), cwd: checkout, env, signal: t.signal };
  return { home, run: (commands: readonly string[]) => runInShell(commands.map(here), options) };
}

/** Packs the CPI's release with another version, as an upgrade has it. */
async function packNextRelease(home: string): Promise<void> {
  const unpacked = join(home, 'release');
  await mkdir(unpacked);
  await runWell(['tar', '-xzf', join(checkout, 'dist', 'bosh-kubernetes-release.tgz'), '-C', unpacked]);
  await runWell(['sed', '-i', 's/^version: .*/version: "2"/', join(unpacked, 'release.MF')]);
  await runWell(['tar', '-czf', join(home, 'bosh-kubernetes-release-2.tgz'), '-C', unpacked, '.']);
}

/** Replaces what differs between runs. */
const shapeHere = (output: string, home: string): string =>
  shapeOnPage(output, home)
    .replaceAll(/^notAfter=.*$/gmu, 'notAfter=DATE')
    // The order of evictions is not defined.
    .split('\n')
    .toSorted()
    .join('\n');
