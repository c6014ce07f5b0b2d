import type { Manifest } from '../bosh/manifest/manifest.ts';
import type { TemplateRenderer } from '../bosh/template/template-renderer.ts';
import { openReleases } from './archive/open-releases.ts';
import { deployDisk } from './disk/deploy-disk.ts';
import { planDisk } from './disk/plan-disk.ts';
import { wantedDisk } from './disk/wanted-disk.ts';
import { within } from './error-chain.ts';
import { deployJobs } from './instance/deploy-jobs.ts';
import { newAgentBudget, waitForAgent } from './instance/wait-for-agent.ts';
import { clearRun } from './install/installation-directory.ts';
import { isDeployed } from './is-deployed.ts';
import type { CreateEnvOptions, EnvPorts } from './options.ts';
import type { Run } from './run.ts';
import { withSession, type Session } from './session.ts';
import type { Stage, StepTiming } from './stage/stage.ts';
import type { StemcellRecord } from './state/deployment-state.ts';
import { clearDeployed, currentDisk, recordDeployed } from './state/state-changes.ts';
import { checkCpi, deleteUnusedStemcells, uploadStemcell } from './stemcell/upload-stemcell.ts';
import { validateDeployment, type ValidDeployment } from './validate/validate-deployment.ts';
import { createVm } from './vm/create-vm.ts';
import { deleteCurrentVm } from './vm/delete-vm.ts';
import { diskMetadata, vmMetadata, vmSpecification } from './vm/vm-specification.ts';
import { withCpi } from './with-cpi.ts';

export interface CreateEnvResult {
  /** False when manifest, stemcell and releases were deployed already and nothing was done. */
  readonly changed: boolean;
  readonly manifest: Manifest;
  /** `group/0`. */
  readonly instance: string;
  readonly vmCid: string;
  readonly diskCid: string | undefined;
  readonly timings: readonly StepTiming[];
}

/**
 * Brings the one VM of a create-env manifest into the state that the manifest describes: what bosh create-env does, with
 * its state file, in its order (reference agent-bootstrap 1.3). Interrupted or killed anywhere, the next run converges to
 * one VM and one attached disk. Progress goes to `ports.write`; errors are ProductErrors whose causes go inwards.
 */
export async function createEnv(options: CreateEnvOptions, ports: EnvPorts): Promise<CreateEnvResult> {
  const result = await withSession(options, ports, (session) => converge(session, options.recreate === true));
  if (result === undefined) throw new Error('a session without a state file');
  return result;
}

async function converge(session: Session, recreate: boolean): Promise<CreateEnvResult> {
  const { stage, ports, state, directory } = session;
  try {
    const valid = await validateDeployment(stage, session);
    if (!recreate && isDeployed(state.state, targetOf(valid))) {
      ports.write('No deployment, stemcell or release changes. Skipping deploy.\n');
      return summarize(session, valid.manifest, false);
    }
    planDisk(state.state, wantedDisk(valid.manifest));
    const stemcellApiVersion = valid.stemcell.summary.apiVersion;
    await withCpi(session, { valid, stemcellApiVersion }, (run, renderer) =>
      deploy(session, valid, run, renderer),
    );
    return summarize(session, valid.manifest, true);
  } finally {
    await clearRun(directory);
  }
}

async function deploy(
  session: Session,
  valid: ValidDeployment,
  run: Run,
  renderer: TemplateRenderer,
): Promise<void> {
  const { stage, state, ports } = session;
  const { stemcell } = valid;
  await checkCpi(run, stemcell.summary);
  const record = await uploadStemcell(run, stage, stemcell.summary, () => stemcell.imagePath());
  await stage.performComplex('deploying', (group) =>
    within('Deploying', async () => {
      await state.change(clearDeployed);
      await replaceInstance(session, group, { valid, run, renderer, record });
      const releases = targetOf(valid).releases.map(({ name, version }) => ({
        id: ports.uuid(),
        name,
        version,
      }));
      await state.change(recordDeployed(valid.sha512, releases));
    }),
  );
  await deleteUnusedStemcells(run, stage);
}

interface Replacement {
  readonly valid: ValidDeployment;
  readonly run: Run;
  readonly renderer: TemplateRenderer;
  readonly record: StemcellRecord;
}

/** There is no update in place: the old VM goes, a new one comes, the disk moves over. */
async function replaceInstance(session: Session, stage: Stage, replacement: Replacement): Promise<void> {
  const { valid, run, renderer, record } = replacement;
  const { manifest } = valid;
  const instance = `${manifest.instanceGroup.name}/0`;
  const diskCids = run.state.state.disks.map(({ cid }) => cid);
  await within(`Deleting existing instance '${instance}'`, () =>
    deleteCurrentVm(run, stage, { instance, skipDrain: session.options.skipDrain === true }),
  );
  await within(`Creating instance '${instance}'`, async () => {
    const vmCid = await createInstanceVm(stage, replacement, diskCids);
    await within('Updating instance disks', () =>
      deployDisk(run, stage, { vmCid, wanted: wantedDisk(manifest), metadata: diskMetadata(manifest) }),
    );
  });
  const releases = await openReleases(
    valid.releases,
    manifest.instanceGroup.jobs.map(({ release }) => release),
  );
  const stemcell = `${record.name}/${record.version}`;
  await deployJobs(run, stage, { manifest, releases, stemcell, renderer, directory: session.directory });
}

async function createInstanceVm(
  stage: Stage,
  { valid: { manifest }, run, record }: Replacement,
  diskCids: readonly string[],
): Promise<string> {
  const instance = `${manifest.instanceGroup.name}/0`;
  const vmCid = await stage.perform(
    `Creating VM for instance '${instance}' from stemcell '${record.cid}'`,
    () =>
      within('Creating VM', async () => {
        const cid = await createVm(run, vmSpecification(manifest, record, diskCids));
        await within('Setting VM metadata', () =>
          run.cloud.setVmMetadata(cid, vmMetadata(manifest, run.clock.now())),
        );
        return cid;
      }),
  );
  await within('Waiting until instance is ready', () =>
    stage.perform(`Waiting for the agent on VM '${vmCid}' to be ready`, () =>
      waitForAgent(run, newAgentBudget),
    ),
  );
  return vmCid;
}

function targetOf({ sha512, stemcell, releases }: ValidDeployment) {
  return {
    manifestSha: sha512,
    stemcell: stemcell.summary,
    releases: releases.map(({ summary }) => summary),
  };
}

function summarize({ state, timings }: Session, manifest: Manifest, changed: boolean): CreateEnvResult {
  return {
    changed,
    manifest,
    instance: `${manifest.instanceGroup.name}/0`,
    vmCid: state.state.current_vm_cid,
    diskCid: currentDisk(state.state)?.cid,
    timings,
  };
}
