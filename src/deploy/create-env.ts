import type { Manifest } from '../bosh/manifest/manifest.ts';
import { describeKeptDisk, unusedCurrentDisk, planDisk, desiredDisk } from './disk/plan-disk.ts';
import { removeTree } from '../platform/remove-tree.ts';
import { clearRun } from './install/installation-directory.ts';
import { InstanceDeployment } from './instance-deployment.ts';
import { readInstanceState, type InstanceState } from './instance/instance-state.ts';
import { isDeployed } from './is-deployed.ts';
import type { CreateEnvOptions, EnvPorts } from './options.ts';
import { type Run, withSession, type Session } from './session.ts';
import type { ClusterIdentity } from './state/recorded-cluster.ts';
import { currentDisk } from './state/state-changes.ts';
import { checkAgentCertificate } from './validate/check-agent-certificate.ts';
import { validateDeployment, type ValidDeployment } from './validate/validate-deployment.ts';
import { deletePendingVmOrWarn, hasRecordedVm } from './vm/delete-vm.ts';
import { withCpi } from './with-cpi.ts';

export interface CreateEnvResult {
  /**
   * False if manifest, stemcell and releases were already deployed, the VM exists and nothing was changed.
   */
  readonly changed: boolean;
  readonly manifest: Manifest;
  /** For example `group/0`. */
  readonly instance: string;
  /**
   * The state that the agent reports: `running` after a deploy, `unresponsive agent` if it does not respond
   * within a second.
   */
  readonly state: string;
  /** Undefined while the address on a dynamic network is not known. */
  readonly address: string | undefined;
  readonly vmCid: string;
  /** The cid of the attached disk. */
  readonly diskCid: string | undefined;
}

/**
 * Converges the VM of a create-env manifest to what the manifest describes, as bosh create-env does, with its
 * state file and in its order. If a run is interrupted or killed at any point, the next run converges to one
 * VM and one attached disk. Progress is written to `ports.write`. Errors are ProductErrors whose causes go
 * from the outermost step to the innermost.
 */
export async function createEnv(options: CreateEnvOptions, ports: EnvPorts): Promise<CreateEnvResult> {
  const result = await withSession(options, ports, async (session) => {
    await bindToCluster(session, options.cluster);
    return converge(session, options);
  });
  if (result === undefined) throw new Error('a session without a state file');
  return result;
}

/** Records the cluster before the first request to it, so that a VM of a killed run can be found. */
async function bindToCluster({ files, state }: Session, cluster: ClusterIdentity | undefined): Promise<void> {
  if (cluster === undefined) return;
  await files.assertOnCluster(cluster);
  await files.recordCluster({ installation_id: state.installationId, ...cluster });
}

async function converge(session: Session, options: CreateEnvOptions): Promise<CreateEnvResult> {
  const { ports, directory } = session;
  const { recreatePersistentDisks = false, cluster } = options;
  try {
    const { valid, isUnchanged } = await plan(session, options).catch(async (error: unknown) => {
      await forgetIfNew(session);
      throw error;
    });
    const stemcellApiVersion = valid.stemcell.summary.apiVersion;
    const deployed = await withCpi(session, { valid, stemcellApiVersion }, async (run, renderer) => {
      if (isUnchanged && (await recordedVmIsCurrent(run, valid))) return undefined;
      const isKnownCluster = cluster !== undefined;
      const deployOptions = { renderer, isKnownCluster, recreatePersistentDisks };
      return { address: await new InstanceDeployment(session, run, valid, deployOptions).deploy() };
    });
    if (deployed === undefined) {
      ports.write('No deployment, stemcell or release changes. Skipping deploy.\n');
      const summary = summarize(session, valid.manifest);
      const { state: jobState, address } = await readAgentState(session, valid.manifest);
      if (jobState === 'stopped') ports.write(stoppedJobs(summary.instance));
      return { changed: false, ...summary, state: jobState, address };
    }
    return { changed: true, ...summarize(session, valid.manifest), state: 'running', ...deployed };
  } finally {
    await clearRun(directory);
  }
}

interface Plan {
  readonly valid: ValidDeployment;
  /** True if everything is deployed already, and the caller does not want it again. */
  readonly isUnchanged: boolean;
}

/** Makes all checks that need no request to the cloud. */
async function plan(
  session: Session,
  { recreate = false, recreatePersistentDisks = false, checkManifest, varsStorePath }: CreateEnvOptions,
): Promise<Plan> {
  const { stage, files, state } = session;
  const valid = await validateDeployment(stage, session, checkManifest);
  const target = {
    manifestSha: await files.matchingManifestDigest(state.state, valid),
    stemcell: valid.stemcell.summary,
    releases: valid.releases.map(({ summary }) => summary),
  };
  const isUnchanged = !recreate && !recreatePersistentDisks && isDeployed(state.state, target);
  if (!isUnchanged) {
    planDisk(state.state, desiredDisk(valid.manifest));
    checkAgentCertificate(valid.manifest, varsStorePath);
  }
  return { valid, isUnchanged };
}

/**
 * Removes the files of a deployment that did not exist before this run. Must be called only before the first
 * CPI call. An error is a warning: the error that ends the run is more important.
 */
async function forgetIfNew({ isNew, files, directory, ports }: Session): Promise<void> {
  if (!isNew) return;
  try {
    await removeTree(directory.root, { within: directory.installations });
    await files.removeAll();
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    ports.warn(`Cannot remove the state of the deployment, which was not created: ${problem}`);
  }
}

/**
 * Returns true if the recorded VM needs no change. Another VM may exist: a run was killed in create_vm, and
 * the bosh CLI then created the recorded VM. That other VM is deleted.
 */
async function recordedVmIsCurrent(run: Run, { manifest }: ValidDeployment): Promise<boolean> {
  if (!(await hasRecordedVm(run))) {
    run.warn(`VM '${run.state.state.current_vm_cid}' no longer exists in the cluster; it is created again`);
    return false;
  }
  const { properties } = manifest.cloudProvider;
  // The configuration has changed but still leads to the same cluster, for example with other credentials.
  const { files, state } = run;
  if (await files.cpiConfigChanged(state.state, properties))
    await files.recordCpiConfig(state.state, properties);
  await deletePendingVmOrWarn(run, manifest, retryAdvice);
  return true;
}

/** The pending VM may need the recorded VM's address. Then create_vm fails in every run. */
const retryAdvice = '; each run requests it again, until one with --recreate has replaced the recorded VM';

const agentTimeoutMs = 1000;

/** The message for an instance whose jobs stop-env has stopped. */
export const stoppedJobs = (instance: string): string =>
  `The jobs of instance '${instance}' are stopped, and this run did not start them; start-env with the same manifest and flags starts them\n`;

function readAgentState({ state, ports, options }: Session, manifest: Manifest): Promise<InstanceState> {
  const { clock } = ports;
  return readInstanceState({
    manifest,
    statePath: state.path,
    clock,
    signal: options.signal,
    budget: agentTimeoutMs,
  });
}

function summarize({ state, ports }: Session, manifest: Manifest) {
  const kept = unusedCurrentDisk(state.state, desiredDisk(manifest));
  if (kept !== undefined) ports.write(`${describeKeptDisk(kept)}\n`);
  return {
    manifest,
    instance: `${manifest.instanceGroup.name}/0`,
    vmCid: state.state.current_vm_cid,
    diskCid: kept === undefined ? currentDisk(state.state)?.cid : undefined,
  };
}
