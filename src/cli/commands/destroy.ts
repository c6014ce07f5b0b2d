import { existsSync } from 'node:fs';
import { lstat, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { checkOwner } from '../../../embedded-cluster/daemon/cluster-state.ts';
import { safeRemove } from '../../platform/safe-remove.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { removeDurably } from '../../deploy/durable-file.ts';
import { clusterNotePathFor, removeClusterNote, writeClusterNote } from '../../deploy/state/cluster-note.ts';
import { cpiNotePathFor } from '../../deploy/state/cpi-note.ts';
import { digestNotePathFor } from '../../deploy/state/digest-note.ts';
import { pendingPathFor } from '../../deploy/state/pending-file.ts';
import { statePathFor } from '../../deploy/state/state-file.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Command, CommandContext } from '../command.ts';
import { defaultVarsStorePath } from '../default-credentials.ts';
import { embeddedCluster } from '../embedded-cluster.ts';
import { envUsage, parseEnvArguments, type EnvArguments } from '../env-arguments.ts';
import { withInstallationLock, locksDirectory } from '../hold-lock.ts';
import { assertDestroysOwnCluster } from '../refuse-other-cluster.ts';

/**
 * Removes the embedded cluster with all its disks, and the files of the manifest's deployment on this
 * machine.
 */
export const destroy: Command = {
  name: 'destroy',
  usage: envUsage.destroy,
  summary: 'Remove the embedded cluster, its disks and the deployment; asks first',
  async run(words, context) {
    const parsed = parseEnvArguments('destroy', words);
    await checkOwner(context.installation.clusterDirectory, 'remove');
    await assertNamesDeployment(parsed);
    if (!parsed.force && !(await confirmed(context, parsed))) return 1;
    const { lockPath } = context.installation;
    await withInstallationLock(lockPath, async () => {
      await removeAll(parsed, context);
      await removeTree(locksDirectory(lockPath), { within: dirname(lockPath) });
    });
    context.terminal.out('Destroyed.\n');
    return 0;
  },
};

/** A mistyped path must not cost the disks of what else is on the cluster. FILE_NOT_FOUND of a manifest without a state. */
async function assertNamesDeployment(parsed: EnvArguments): Promise<void> {
  const { manifestPath } = parsed;
  const statePath = await statePathOf(parsed);
  // the note is the last that a destroy removes
  if ([statePath, clusterNotePathFor(statePath)].some((path) => existsSync(path))) return;
  if ((await stat(manifestPath).catch(() => undefined))?.isDirectory() === false) return;
  throw new ProductError('FILE_NOT_FOUND', `There is no manifest '${manifestPath}'; nothing was removed`);
}

async function confirmed(
  { terminal, installation, signal }: CommandContext,
  parsed: EnvArguments,
): Promise<boolean> {
  const { nonInteractive } = parsed;
  if (nonInteractive || !terminal.canAsk) {
    const reason = nonInteractive ? 'nobody is to be asked' : 'input is not a terminal';
    terminal.error(`Nothing was removed: ${reason}. Say --force to destroy without being asked.`);
    return false;
  }
  const paths = [await statePathOf(parsed), ...(await credentialsOf(parsed))];
  const files = paths.map((path) => `'${path}'`).join(' and ');
  const answer = await terminal.ask(
    `Remove the cluster in ${installation.clusterDirectory} with all its disks, and ${files}? [yes/no] `,
    signal,
  );
  if (answer?.trim().toLowerCase() === 'yes') return true;
  if (answer === undefined) terminal.error('');
  terminal.error('Nothing was removed.');
  return false;
}

/**
 * Removes everything in this order: the workspace (may fail because of mounts), the cluster, the state file
 * (lists what is left), and the cluster note last. After an interruption the next run needs the note to
 * recognise that the removed cluster was the right one.
 */
async function removeAll(parsed: EnvArguments, { installation, secrets }: CommandContext): Promise<void> {
  const statePath = await statePathOf(parsed);
  const { clusterDirectory, workspace } = installation;
  const credentials = await credentialsOf(parsed);
  const cluster = embeddedCluster(installation);
  const note = await assertDestroysOwnCluster(
    statePath,
    { ...cluster, directory: clusterDirectory },
    secrets.add,
  );
  await removeWorkspace(workspace);
  if (note !== undefined) await writeClusterNote(statePath, note);
  await cluster.destroy();
  await removeDurably(statePath);
  const beside = [pendingPathFor, cpiNotePathFor, digestNotePathFor].map((pathFor) => pathFor(statePath));
  const files = [...beside, ...credentials];
  for (const path of files) await rm(path, { force: true });
  await removeClusterNote(statePath);
}

const statePathOf = ({ manifestPath, statePath }: EnvArguments): Promise<string> =>
  statePathFor(manifestPath, statePath);

/**
 * Returns the credential files that `up` created by itself. A file of --vars-store stays. So does a file
 * without a state file, and one that another state file beside the manifest also uses.
 */
async function credentialsOf(parsed: EnvArguments): Promise<string[]> {
  const { manifestPath, varsStorePath } = parsed;
  const path = defaultVarsStorePath(manifestPath);
  if (varsStorePath !== undefined && resolve(varsStorePath) !== resolve(path)) return [];
  const statePath = await statePathOf(parsed);
  if (![statePath, clusterNotePathFor(statePath)].some((file) => existsSync(file))) return [];
  const usual = await statePathFor(manifestPath);
  const isShared = resolve(usual) !== resolve(statePath) && existsSync(usual);
  return isShared ? [] : [path];
}

/**
 * Removes the workspace without crossing mount points, which are recognised by their real paths. A symlink of
 * the operator is removed, not followed.
 */
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
