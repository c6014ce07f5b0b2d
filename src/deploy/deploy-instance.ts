import { hasEmbeddedAgent } from '../bosh/stemcell/embedded-agent.ts';
import type { TemplateRenderer } from '../bosh/template/template-renderer.ts';
import { withContext } from '../platform/error-chain.ts';
import { openReleases } from './archive/release-archive.ts';
import { assertDeploymentIsHere, assertDiskExists } from './check-presence.ts';
import { wantedDisk } from './disk/plan-disk.ts';
import { checkTemplates } from './instance/render-templates.ts';
import { replaceInstance } from './instance/replace-instance.ts';
import { assertAgentReachableAfterMove, assertAgentMatches } from './instance/verify-agent.ts';
import type { Run, Session } from './session.ts';
import { clearDeployed, recordDeployed } from './state/state-changes.ts';
import { checkCpi, deleteUnusedStemcells, uploadStemcell } from './stemcell/upload-stemcell.ts';
import type { ValidDeployment } from './validate/validate-deployment.ts';
import { checkVm } from './vm/create-vm.ts';
import { vmSpecification } from './vm/vm-specification.ts';

export interface DeployOptions {
  readonly renderer: TemplateRenderer;
  /** True if the caller knows which cluster the CPI uses. */
  readonly isKnownCluster: boolean;
  readonly recreatePersistentDisks: boolean;
}

/**
 * Replaces the instance with the one that a validated deployment describes, and records it. Returns its
 * address. All checks that can fail run before the current VM is touched.
 */
export async function deployInstance(
  session: Session,
  valid: ValidDeployment,
  run: Run,
  { renderer, isKnownCluster, recreatePersistentDisks }: DeployOptions,
): Promise<string | undefined> {
  const { stage, files, state, ports, options, directory } = session;
  const { stemcell } = valid;
  const { properties } = valid.manifest.cloudProvider;
  const skipDrain = options.skipDrain === true;
  renderer.preload();
  await checkCpi(run, stemcell.summary);
  const isElsewhere = async () => !isKnownCluster && (await files.cpiConfigChanged(state.state, properties));
  const lostDisk = await assertDeploymentIsHere(run, isElsewhere);
  if (lostDisk !== undefined) assertDiskExists(state, lostDisk, wantedDisk(valid.manifest));
  await assertAgentReachableAfterMove(run, valid.manifest);
  await assertAgentMatches(run, valid.manifest.cloudProvider.mbus);
  const releases = await openReleases(
    valid.releases,
    valid.manifest.instanceGroup.jobs.map(({ release }) => release),
  );
  const templates = {
    ...{ manifest: valid.manifest, releases, renderer, directory },
    hasEmbeddedAgent: hasEmbeddedAgent(stemcell.summary.cloudProperties),
  };
  await checkTemplates(run, templates);
  await files.recordCpiConfig(state.state, properties);
  const record = await uploadStemcell(run, stage, stemcell.summary, () => stemcell.imagePath());
  const diskCids = state.state.disks.map(({ cid }) => cid);
  await checkVm(run, vmSpecification(valid.manifest, record, diskCids));
  const address = await stage.performComplex('deploying', (group) =>
    withContext('Deploying', async () => {
      await state.change(clearDeployed);
      const reached = await replaceInstance(run, group, {
        ...{ valid, record, skipDrain, templates, recreatePersistentDisks },
      });
      const deployed = deploymentTarget(valid).releases.map(({ name, version }) => ({
        id: ports.uuid(),
        name,
        version,
      }));
      await files.recordManifestDigests(valid);
      await state.change(recordDeployed(valid.sha512, deployed));
      return reached;
    }),
  );
  await deleteUnusedStemcells(run, stage);
  return address;
}

/** Returns what isDeployed compares with the state, except for the manifest's digest. */
export function deploymentTarget({ stemcell, releases }: ValidDeployment) {
  return {
    stemcell: stemcell.summary,
    releases: releases.map(({ summary }) => summary),
  };
}
