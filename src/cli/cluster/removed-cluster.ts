import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { ProductError } from '../../errors/product-error.ts';
import { shellWord } from '../../platform/shell-word.ts';
import type { EnvInputs } from '../args/env-arguments.ts';
import { kubeconfigPath } from './kubeconfig.ts';
import { readClusterContents } from './read-cluster-contents.ts';

/**
 * Returns whether the recorded VM and disks of the deployment were on an earlier cluster of this directory:
 * `removed` if the directory has no cluster, `replaced` if it has another one, `no` if neither is known.
 */
export async function findRemovedCluster(
  files: DeploymentFiles,
  clusterDirectory: string,
): Promise<'removed' | 'replaced' | 'no'> {
  const [recorded, state] = await Promise.all([files.readCluster(), files.readState()]);
  if (recorded === undefined || recorded.installation_id !== state?.installation_id) return 'no';
  if (recorded.kubeconfig !== resolve(kubeconfigPath(clusterDirectory))) return 'no';
  if ((await files.readKnownResources())?.isEmpty !== false) return 'no';
  if (!existsSync(clusterDirectory)) return 'removed';
  // The uid is made once in the life of a cluster.
  const { uid } = await readClusterContents(clusterDirectory);
  return uid === undefined || recorded.uid === undefined || uid === recorded.uid ? 'no' : 'replaced';
}

/**
 * Throws OTHER_CLUSTER, with the next step, if the deployment was on an earlier cluster of this directory.
 */
export async function assertClusterNotRemoved(
  files: DeploymentFiles,
  clusterDirectory: string,
  { manifestPath, statePath }: Pick<EnvInputs, 'manifestPath' | 'statePath'>,
): Promise<void> {
  const found = await findRemovedCluster(files, clusterDirectory);
  if (found === 'no') return;
  const now = found === 'replaced' ? ' The cluster that is there now is another one.' : '';
  const flags = statePath === undefined ? [] : ['--state', statePath];
  const command = ['bosh-kubernetes', 'destroy', manifestPath, ...flags].map(shellWord).join(' ');
  throw new ProductError(
    'OTHER_CLUSTER',
    `${(await files.readKnownResources())?.describe()} on the embedded cluster in '${clusterDirectory}', and that cluster no longer ` +
      `exists: a 'destroy' removed it, or its folder was removed or moved.${now} Nothing was changed. If you moved the folder, move it ` +
      `back. Otherwise '${command}' removes the files of this deployment, and 'up' then deploys it anew`,
  );
}
