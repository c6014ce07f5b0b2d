import { rm } from 'node:fs/promises';
import { statePathFor } from '../../deploy/state/state-file.ts';
import type { Command, CommandContext } from '../command.ts';
import { embeddedCluster } from '../embedded-cluster.ts';
import { parseEnvArguments, type EnvArguments } from '../env-arguments.ts';
import { holdLock } from '../hold-lock.ts';

/** Removes the embedded cluster with every disk on it, and what the deployment of the manifest left on this machine. */
export const destroy: Command = {
  name: 'destroy',
  usage: 'MANIFEST [--state FILE] [--vars-store FILE] [--force]',
  summary: 'Remove the embedded cluster, its disks and the deployment; asks first',
  async run(words, context) {
    const parsed = parseEnvArguments(words);
    if (!parsed.force && !(await confirmed(context))) return 1;
    await holdLock(context.installation.lockPath, () => removeAll(parsed, context));
    await rm(context.installation.workspace, { recursive: true, force: true });
    context.terminal.out('Destroyed.\n');
    return 0;
  },
};

async function confirmed({ terminal, installation }: CommandContext): Promise<boolean> {
  if (!terminal.canAsk) {
    terminal.error(
      'Nothing was removed: input is not a terminal. Say --force to destroy without being asked.',
    );
    return false;
  }
  const answer = await terminal.ask(
    `Remove the cluster in ${installation.clusterDirectory} with all its disks? [yes/no] `,
  );
  if (answer.trim().toLowerCase() === 'yes') return true;
  terminal.error('Nothing was removed.');
  return false;
}

async function removeAll(parsed: EnvArguments, { installation }: CommandContext): Promise<void> {
  await embeddedCluster(installation).destroy();
  const statePath = statePathFor(parsed.manifestPath, parsed.statePath);
  const varsStore = parsed.varsStorePath ?? parsed.manifestPath.replace(/(\.ya?ml)?$/, '-creds.yml');
  for (const path of [statePath, `${statePath}.pending`, varsStore]) await rm(path, { force: true });
}
