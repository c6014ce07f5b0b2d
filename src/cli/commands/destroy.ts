import { lstat, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { safeRemove } from '../../cluster/node/removal/safe-remove.ts';
import { removeClusterNote } from '../../deploy/state/cluster-note.ts';
import { cpiNotePathFor } from '../../deploy/state/cpi-note.ts';
import { pendingPathFor } from '../../deploy/state/pending-file.ts';
import { statePathFor } from '../../deploy/state/state-file.ts';
import type { Command, CommandContext } from '../command.ts';
import { embeddedCluster } from '../embedded-cluster.ts';
import { parseEnvArguments, type EnvArguments } from '../env-arguments.ts';
import { holdLock } from '../hold-lock.ts';
import { refuseOtherCluster } from '../refuse-other-cluster.ts';

/** Removes the embedded cluster with every disk on it, and what the deployment of the manifest left on this machine. */
export const destroy: Command = {
  name: 'destroy',
  usage: 'MANIFEST [--state FILE] [--vars-store FILE] [--force]',
  summary: 'Remove the embedded cluster, its disks and the deployment; asks first',
  async run(words, context) {
    const parsed = parseEnvArguments(words);
    if (!parsed.force && !(await confirmed(context))) return 1;
    await holdLock(context.installation.lockPath, () => removeAll(parsed, context));
    context.terminal.out('Destroyed.\n');
    return 0;
  },
};

async function confirmed({ terminal, installation, signal }: CommandContext): Promise<boolean> {
  if (!terminal.canAsk) {
    terminal.error(
      'Nothing was removed: input is not a terminal. Say --force to destroy without being asked.',
    );
    return false;
  }
  const answer = await terminal.ask(
    `Remove the cluster in ${installation.clusterDirectory} with all its disks? [yes/no] `,
    signal,
  );
  if (answer?.trim().toLowerCase() === 'yes') return true;
  terminal.error(answer === undefined ? '\nNothing was removed.' : 'Nothing was removed.');
  return false;
}

/**
 * The workspace first, since its removal is the one that a mount may refuse; the state last, since it names what is left. The
 * note goes before its cluster: killed after the cluster went, the next run could not tell that it was the right one.
 */
async function removeAll(parsed: EnvArguments, { installation }: CommandContext): Promise<void> {
  const statePath = statePathFor(parsed.manifestPath, parsed.statePath);
  await refuseOtherCluster(statePath, installation.clusterDirectory);
  await removeWorkspace(installation.workspace);
  await removeClusterNote(statePath);
  await embeddedCluster(installation).destroy();
  const varsStore = parsed.varsStorePath ?? parsed.manifestPath.replace(/(\.ya?ml)?$/, '-creds.yml');
  const files = [statePath, pendingPathFor(statePath), cpiNotePathFor(statePath), varsStore];
  for (const path of files) await rm(path, { force: true });
}

/** Never across a mount, whose points are known by their real paths; a link that the operator put there goes as a link. */
async function removeWorkspace(workspace: string): Promise<void> {
  const path = join(await realpath(dirname(workspace)), basename(workspace));
  await ((await isLink(path)) ? rm(path) : safeRemove(path));
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}
