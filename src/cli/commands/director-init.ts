import { randomBytes } from 'node:crypto';
import { lookup as lookupName } from 'node:dns/promises';
import { join, resolve } from 'node:path';
import type { NameLookup } from '../../director/cloud-foundry/prepare-cloud-foundry.ts';
import { commandsFile, writeDirectory } from '../../director/director-directory.ts';
import type { Check } from '../../director/preflight-checks.ts';
import { prepareDirector } from '../../director/prepare-director.ts';
import { ProductError } from '../../errors/product-error.ts';
import { shellWord } from '../../platform/shell-word.ts';
import { parseInitArguments } from '../args/director-init-arguments.ts';
import { expandHome } from '../args/parse-command-line.ts';
import { environmentKubeconfig, identifyCluster, withKubernetes } from '../cluster/kubeconfig.ts';
import type { CommandContext } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { nameInstalledFiles } from '../output/name-installed-files.ts';
import { printTable } from '../output/terminal.ts';
import { withLiveProgress } from '../output/with-progress.ts';

/** The ports of the command, which tests replace. */
export interface InitPorts {
  readonly connect: typeof withKubernetes;
  readonly lookup: NameLookup;
}

/**
 * Prints a table of what a director needs from the cluster, and writes the director's directory. Rejects with
 * DIRECTOR_NOT_POSSIBLE and writes nothing if something is missing that a director cannot work without.
 */
export async function initDirector(
  args: readonly string[],
  { installation, terminal, secrets, environment, signal }: CommandContext,
  { connect, lookup }: InitPorts = { connect: withKubernetes, lookup: systemLookup },
): Promise<number> {
  const parsed = parseInitArguments(args);
  const { directory, context } = parsed;
  const { root } = installation;
  // Choose the kubeconfig like kubectl, but never the embedded cluster, which has no port forwarding.
  const kubeconfig = resolve(
    parsed.kubeconfig ?? environmentKubeconfig(environment) ?? expandHome('~/.kube/config'),
  );
  const release = parsed.release ?? join(root, 'dist', 'bosh-kubernetes-release.tgz');
  const { files, file, ...examined } = await interruptible(
    withLiveProgress(terminal, 'Examining the cluster', () =>
      connect(
        kubeconfig,
        async (api, access) => {
          const identity = await identifyCluster(api, access, kubeconfig);
          return prepareDirector({ ...parsed, root, release }, { api, identity, ca: access.ca, lookup });
        },
        { environment, context, signal, onSecrets: secrets.add },
      ),
    ),
    signal,
    { result: 'The cluster was not examined, and nothing was written', next: 'run the same command again' },
  );
  const checks = examined.checks.map((check) =>
    check.result === 'missing' ? { ...check, detail: nameInstalledFiles(check.detail, root) } : check,
  );
  printTable(terminal, {
    content: 'checks',
    header: ['Check', 'Result', 'Details'],
    rows: checks.map(({ name, result, detail, isNeeded }) => {
      const tone = isNeeded === true ? 'failed' : 'warning';
      return [name, { text: result, tone: result === 'ok' ? 'ok' : tone }, detail];
    }),
  });
  assertNothingMissing(checks);
  const { written, keptFiles } = await writeDirectory(directory, files, file);
  terminal.out(`Written in '${directory}': ${written.join(', ')}\n`);
  if (keptFiles.length > 0)
    terminal.out(
      `Kept because they were edited: ${keptFiles.join(', ')}; the options of this run do not change them; remove a file to have ` +
        'it written again\n',
    );
  terminal.out(`Next: bash ${shellWord(join(directory, commandsFile))}, or its lines one by one\n`);
  return 0;
}

const systemLookup: NameLookup = {
  randomLabel: () => `check-${randomBytes(4).toString('hex')}`,
  resolve: async (name) => {
    try {
      const found = await lookupName(name, { all: true });
      return { name, addresses: found.map(({ address }) => address), error: '' };
    } catch (error) {
      if (!(error instanceof Error && 'code' in error)) throw error;
      return { name, addresses: [], error: String(error.code) };
    }
  },
};

function assertNothingMissing(checks: readonly Check[]): void {
  const needed = checks.filter(({ result, isNeeded }) => result === 'missing' && isNeeded === true);
  if (needed.length === 0) return;
  const sentences = needed.map(({ name, detail }) => `${name}: ${detail}`);
  throw new ProductError('DIRECTOR_NOT_POSSIBLE', `Nothing was written. ${sentences.join('. ')}`);
}
