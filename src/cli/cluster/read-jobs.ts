import { loadManifest } from '../../bosh/manifest/load-manifest.ts';
import { readInstanceState } from '../../deploy/instance/instance-state.ts';
import type { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import { isProductError } from '../../errors/product-error.ts';
import type { JobsOfVm } from '../../inventory/jobs-of-vm.ts';
import { systemClock } from '../../platform/clock.ts';
import { readEnvInputs } from '../args/env-arguments.ts';
import type { CommandContext } from '../command.ts';
import { withClusterVariables } from './with-cluster-variables.ts';

/** Milliseconds for the agent, which runs on this machine. */
const agentBudget = 3000;

/**
 * Requests the state of the jobs from the agent of a deployment on the embedded cluster, with the variables
 * of `up` without flags. Returns undefined if the VM in the state file is not one of `vms`. Writes
 * nothing.
 */
export async function readJobs(
  manifestPath: string,
  { files, vms }: { readonly files: DeploymentFiles; readonly vms: readonly string[] },
  { installation, environment, secrets, signal }: CommandContext,
): Promise<JobsOfVm | undefined> {
  const vm = (await files.readKnownResources())?.vmCid;
  if (vm === undefined || !vms.includes(vm)) return undefined;
  try {
    const inputs = withClusterVariables(readEnvInputs(manifestPath, {}), installation);
    const { manifest } = await loadManifest({
      ...{ ...inputs, path: manifestPath, environment, keepsVarsStore: true, onSecrets: secrets.add },
    });
    const { state } = await readInstanceState({
      ...{ manifest, statePath: files.statePath, clock: systemClock, signal, budget: agentBudget },
      isFinal: () => true,
    });
    if (state !== 'unresponsive agent') return { vm, state };
    return { vm, state: undefined, reason: 'its agent does not respond' };
  } catch (error) {
    // The manifest may need flags of `up`, which status does not take.
    if (!isProductError(error) || error.code === 'INTERRUPTED') throw error;
    return { vm, state: undefined, reason: error.message };
  }
}
