import { loadStaticVariables } from '../../bosh/variables/open-variables.ts';
import { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import type { EnvInputs } from '../args/env-arguments.ts';
import type { CommandContext } from '../command.ts';
import { isOnEmbeddedCluster } from './check-destroy-target.ts';
import { assertRunning } from './embedded-cluster.ts';
import { assertClusterNotRemoved } from './removed-cluster.ts';
import { withClusterVariables } from './with-cluster-variables.ts';

/**
 * Adds the variables and the vars store of `up` to the inputs of a deployment that is recorded on the
 * embedded cluster of this installation. All values of the operator take precedence; if one of them is a
 * kubeconfig, adds nothing. Otherwise rejects with OTHER_CLUSTER if that cluster no longer exists, and with
 * CLUSTER_START if it does not run.
 */
export async function withRecordedCluster<T extends EnvInputs>(
  inputs: T,
  { installation, environment }: Pick<CommandContext, 'installation' | 'environment'>,
): Promise<T & { readonly kubeconfig?: string }> {
  const { clusterDirectory } = installation;
  const files = await DeploymentFiles.find(inputs.manifestPath, inputs.statePath);
  if ((await files.readCluster()) === undefined) return inputs;
  const given = await loadStaticVariables({ ...inputs, environment });
  if (given.has('kubeconfig')) return inputs;
  await assertClusterNotRemoved(files, clusterDirectory, inputs);
  if (!(await isOnEmbeddedCluster(files, clusterDirectory))) return inputs;
  await assertRunning(installation);
  const added = withClusterVariables(inputs, installation);
  // A variable of -v overrides a file of the operator that has the same one.
  const variables = Object.entries(added.variables).filter(
    ([name]) => Object.hasOwn(inputs.variables, name) || !given.has(name),
  );
  return { ...added, variables: Object.fromEntries(variables) };
}
