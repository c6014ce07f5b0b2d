import { existsSync } from 'node:fs';
import { lstat, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { checkOwner } from '../../../embedded-cluster/index.ts';
import { safeRemove } from '../../platform/safe-remove.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { ProductError } from '../../errors/product-error.ts';
import {
  defaultVarsStorePath,
  envFlags,
  envUsage,
  parseEnvArguments,
  type EnvArguments,
} from '../args/env-arguments.ts';
import { assertDestroysOwnCluster } from '../cluster/check-destroy-target.ts';
import { hasExample } from '../cluster/example-manifest.ts';
import { describeMissingCluster, embeddedCluster } from '../cluster/embedded-cluster.ts';
import { withInstallationLock, locksDirectory } from '../cluster/installation-lock.ts';
import { assertRemovesNothingElse, planDestroy, type DestroyPlan } from '../cluster/plan-destroy.ts';
import { describeResource } from '../cluster/read-cluster-contents.ts';
import { findRemovedCluster } from '../cluster/removed-cluster.ts';
import type { Command, CommandContext } from '../command.ts';
import { uninterrupted } from '../interruption.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import type { Installation } from '../installation.ts';

/**
 * Removes the embedded cluster with all its disks, and the files of the manifest's deployment on this
 * machine. VMs and disks of other deployments are removed only with --all, or if the operator has seen their
 * names and agreed.
 */
export const destroy: Command = {
  name: 'destroy',
  usage: envUsage.destroy,
  operands: ['deployment', 'other'],
  flags: envFlags('destroy'),
  example: 'hello/manifest.yml',
  documentation: 'docs/deploying.md',
  summary: 'Remove the embedded cluster, its disks and a deployment',
  async run(args, context) {
    const parsed = parseEnvArguments('destroy', args);
    const { installation, terminal } = context;
    const { lockPath, clusterDirectory } = installation;
    // Throws if another file or directory has the name of the example.
    if (parsed.isExample) await hasExample();
    await checkOwner(clusterDirectory, 'remove');
    const hasDeployment = await namesDeployment(parsed);
    if (!hasDeployment) assertMayNameNone(parsed, installation);
    if (!hasAnything(await filesOf(parsed), installation)) {
      terminal.out(
        `There was nothing to remove: there is no cluster in '${clusterDirectory}', and no deployment of '${parsed.manifestPath}'.\n`,
      );
      return 0;
    }
    const files = await namesOfFiles(parsed);
    if (!parsed.all && (await isReplaced(parsed, clusterDirectory)))
      return removeOnlyFiles(files, parsed, context);
    const plan = await planDestroy(await filesOf(parsed), clusterDirectory);
    const asks = hasDeployment && !parsed.force && !parsed.nonInteractive && terminal.canAsk;
    const agreed = asks ? plan.others : [];
    if (!parsed.all) assertRemovesNothingElse(plan, { ...parsed, agreed });
    const targets = [
      ...(hasCluster(installation) ? [`the cluster in ${clusterDirectory} with all its disks`] : []),
      ...(hasDeployment ? [files] : []),
    ];
    const missing = hasCluster(installation)
      ? ''
      : `There is no cluster in ${clusterDirectory}. If that folder was moved or is not mounted, answer no.\n`;
    const question = `Remove ${targets.join(', and ')}?`;
    const details = `${missing}${describePlan(plan)}`;
    if (!(await isConfirmed({ details, question }, parsed, context))) return 1;
    await withInstallationLock(lockPath, async () => {
      // Another command may have deployed something during the question.
      if (!parsed.all)
        assertRemovesNothingElse(await planDestroy(await filesOf(parsed), clusterDirectory), {
          ...parsed,
          agreed,
        });
      await uninterrupted(
        () => withLiveProgress(terminal, 'Removing the cluster', () => removeAll(parsed, context)),
        context,
        {
          work: 'The cluster, its disks and the files of the deployment are removed completely',
          next: "the same 'destroy' removes the rest",
        },
      );
      await removeTree(locksDirectory(lockPath), { within: dirname(lockPath) });
    });
    terminal.out('Destroyed.\n');
    return 0;
  },
};

/** Returns true if the manifest or a recorded deployment exists. */
async function namesDeployment(parsed: EnvArguments): Promise<boolean> {
  if ((await filesOf(parsed)).exist) return true;
  return (await stat(parsed.manifestPath).catch(() => undefined))?.isDirectory() === false;
}

/**
 * Throws FILE_NOT_FOUND if the manifest that does not exist was named, or if there is no cluster. A mistyped
 * path must not cost the disks of other deployments on the cluster.
 */
function assertMayNameNone({ manifestPath, isExample }: EnvArguments, installation: Installation): void {
  if (isExample && hasCluster(installation)) return;
  const missing = [describeMissingCluster(installation)].filter((text) => text !== undefined);
  throw new ProductError(
    'FILE_NOT_FOUND',
    [`There is no manifest '${manifestPath}'; nothing was removed; name one that exists`, ...missing].join(
      '; ',
    ),
  );
}

const hasCluster = ({ clusterDirectory, programsDirectory }: Installation): boolean =>
  existsSync(clusterDirectory) || existsSync(programsDirectory);

const hasAnything = (deployment: DeploymentFiles, installation: Installation): boolean =>
  hasCluster(installation) || existsSync(installation.workspace) || deployment.haveAny;

/** Returns true if the deployment's cluster no longer exists, and another cluster has its directory. */
const isReplaced = async (parsed: EnvArguments, clusterDirectory: string): Promise<boolean> =>
  (await findRemovedCluster(await filesOf(parsed), clusterDirectory)) === 'replaced';

/** Removes the files of a deployment whose cluster no longer exists. Returns the exit code. */
async function removeOnlyFiles(
  files: string,
  parsed: EnvArguments,
  context: CommandContext,
): Promise<number> {
  const { clusterDirectory, lockPath } = context.installation;
  const found = `The cluster of this deployment no longer exists; the cluster in ${clusterDirectory} is another one, which stays.\n`;
  if (!(await isConfirmed({ details: found, question: `Remove ${files}?` }, parsed, context))) return 1;
  await withInstallationLock(lockPath, async () => {
    // Another command may have deployed it again during the question.
    if (!(await isReplaced(parsed, clusterDirectory)))
      throw new ProductError(
        'DESTROY_REFUSED',
        `The deployment of '${parsed.manifestPath}' has changed since this 'destroy' started. Nothing was removed; run 'destroy' again`,
      );
    await removeFiles(parsed);
  });
  context.terminal.out(`${parsed.force ? found : ''}Removed the files of the deployment.\n`);
  return 0;
}

/** Returns true with --force, and if the operator answers the question with yes. */
async function isConfirmed(
  { details, question }: { readonly details: string; readonly question: string },
  { force, nonInteractive }: EnvArguments,
  { terminal, signal }: CommandContext,
): Promise<boolean> {
  if (force) return true;
  if (nonInteractive || !terminal.canAsk) {
    const reason = nonInteractive ? '-n was given' : 'input is not a terminal';
    terminal.error(`Nothing was removed: ${reason}. Use --force to destroy without a question.`);
    return false;
  }
  terminal.out(details);
  const answer = await terminal.ask(`${question} [yes/no] `, signal);
  if (['y', 'yes'].includes(answer?.trim().toLowerCase() ?? '')) return true;
  if (answer === undefined) terminal.error('');
  terminal.error('Nothing was removed.');
  return false;
}

async function namesOfFiles(parsed: EnvArguments): Promise<string> {
  const paths = [(await filesOf(parsed)).statePath, ...(await findCredentialFiles(parsed))];
  return paths.map((path) => `'${path}'`).join(' and ');
}

/** Returns lines that name all VMs and disks; an empty text if there are none. */
function describePlan({ own, others, problem }: DestroyPlan): string {
  const list = (title: string, resources: DestroyPlan['own']): string[] =>
    resources.length === 0 ? [] : [title, ...resources.map((resource) => `  ${describeResource(resource)}`)];
  const lines = [
    ...list('The cluster has these VMs and disks of the deployment:', own),
    ...list('The cluster has these VMs and disks, which do not belong to the deployment:', others),
    ...(problem === undefined
      ? []
      : [`The cluster may have VMs and disks that cannot be listed: ${problem}`]),
  ];
  return lines.map((line) => `${line}\n`).join('');
}

/**
 * Removes everything in this order: the workspace (may fail because of mounts), the cluster, the state file
 * (lists what is left), and the record of the cluster last. After an interruption the next run needs that
 * record to recognise that the removed cluster was the right one.
 */
async function removeAll(parsed: EnvArguments, { installation, secrets }: CommandContext): Promise<void> {
  const deployment = await filesOf(parsed);
  const { clusterDirectory, workspace } = installation;
  const cluster = embeddedCluster(installation);
  const record = await assertDestroysOwnCluster(
    deployment,
    { ...cluster, directory: clusterDirectory, all: parsed.all },
    secrets.add,
  );
  await removeWorkspace(workspace);
  if (record !== undefined) await deployment.recordCluster(record);
  await cluster.destroy();
  await removeFiles(parsed);
}

async function removeFiles(parsed: EnvArguments): Promise<void> {
  const deployment = await filesOf(parsed);
  const credentials = await findCredentialFiles(parsed);
  // Without a manifest there may be no directory of the example.
  if (!existsSync(dirname(deployment.statePath))) return;
  await deployment.removeCallLog();
  await deployment.removeAllButCluster();
  for (const path of credentials) await rm(path, { force: true });
  await deployment.removeCluster();
}

const filesOf = ({ manifestPath, statePath }: EnvArguments): Promise<DeploymentFiles> =>
  DeploymentFiles.find(manifestPath, statePath);

/**
 * Returns the credential files that `up` created by itself. A file of --vars-store stays. So does a file
 * without a state file, and one that another state file beside the manifest also uses.
 */
async function findCredentialFiles(parsed: EnvArguments): Promise<string[]> {
  const { manifestPath, varsStorePath } = parsed;
  const path = defaultVarsStorePath(manifestPath);
  if (varsStorePath !== undefined && resolve(varsStorePath) !== resolve(path)) return [];
  const { exist, statePath } = await filesOf(parsed);
  if (!exist) return [];
  const { statePath: usual } = await DeploymentFiles.find(manifestPath);
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
