import { join } from 'node:path';
import { packRenderedJobs } from '../bosh/template/render-job.ts';
import { networkInterfaces } from '../bosh/manifest/read-networks.ts';
import type { Release } from '../bosh/release/release.ts';
import { hasEmbeddedAgent } from '../bosh/stemcell/stemcell.ts';
import type { TemplateRenderer } from '../bosh/template/template-renderer.ts';
import { withContext } from '../platform/error-chain.ts';
import { openReleases } from './archive/release-archive.ts';
import { assertDeploymentIsHere, assertDiskExists } from './check-presence.ts';
import { deployDisk } from './disk/deploy-disk.ts';
import { desiredDisk } from './disk/plan-disk.ts';
import { applySpec, instanceAddress } from './instance/apply-spec.ts';
import {
  checkTemplates,
  jobsToRender,
  renderTemplates,
  type TemplatesToRender,
} from './instance/render-templates.ts';
import { updateInstance } from './instance/update-instance.ts';
import {
  assertAgentMatches,
  assertAgentReachableAfterMove,
  waitForExpectedAgent,
} from './instance/verify-agent.ts';
import { newAgentBudget, waitForAgent } from './instance/wait-for-agent.ts';
import { compilePackages } from './package/compile-packages.ts';
import { CompiledPackageCache } from './package/compiled-package-cache.ts';
import type { Run, Session } from './session.ts';
import type { Stage } from './stage/stage.ts';
import type { StemcellRecord } from './state/deployment-state.ts';
import { clearDeployed, recordDeployed } from './state/state-changes.ts';
import { checkCpi, deleteUnusedStemcells, uploadStemcell } from './stemcell/upload-stemcell.ts';
import type { ValidDeployment } from './validate/validate-deployment.ts';
import { checkVm, createVm } from './vm/create-vm.ts';
import { deleteCurrentVm } from './vm/delete-vm.ts';
import { diskMetadata, vmMetadata, vmSpecification, type VmSpecification } from './vm/vm-specification.ts';

export interface DeployOptions {
  readonly renderer: TemplateRenderer;
  /** True if the caller knows which cluster the CPI uses. */
  readonly isKnownCluster: boolean;
  readonly recreatePersistentDisks: boolean;
}

/** One deploy of the instance that a validated manifest describes. */
export class InstanceDeployment {
  readonly #session: Session;
  readonly #run: Run;
  readonly #valid: ValidDeployment;
  readonly #options: DeployOptions;

  constructor(session: Session, run: Run, valid: ValidDeployment, options: DeployOptions) {
    this.#session = session;
    this.#run = run;
    this.#valid = valid;
    this.#options = options;
  }

  /**
   * Replaces the instance and records what is deployed. Returns its address. All checks that can fail run
   * before the current VM is touched.
   */
  async deploy(): Promise<string | undefined> {
    const { stage, files, state, options } = this.#session;
    const { manifest, stemcell } = this.#valid;
    this.#options.renderer.preload();
    await checkCpi(this.#run, stemcell.summary);
    await this.#checkExisting();
    const templates = await this.#openTemplates();
    await checkTemplates(this.#run, templates);
    await files.recordCpiConfig(state.state, manifest.cloudProvider.properties);
    const record = await uploadStemcell(this.#run, stage, stemcell.summary, () => stemcell.imagePath());
    const metadata = vmMetadata(manifest, this.#run.clock.now());
    await checkVm(this.#run, this.#vmSpecification(record), metadata);
    const address = await stage.performComplex('deploying', (group) =>
      withContext('Deploying', async () => {
        await state.change(clearDeployed);
        await this.#replaceVm(group, record, options.skipDrain === true);
        const reached = await this.#deployJobs(group, record, templates);
        await this.#recordDeployed();
        return reached;
      }),
    );
    await deleteUnusedStemcells(this.#run, stage);
    return address;
  }

  /** The name for messages, for example `group/0`. */
  get #instance(): string {
    return `${this.#valid.manifest.instanceGroup.name}/0`;
  }

  /** Checks that the recorded resources exist and that the agent belongs to the recorded VM. */
  async #checkExisting(): Promise<void> {
    const { files, state } = this.#session;
    const { manifest } = this.#valid;
    const { properties, mbus } = manifest.cloudProvider;
    const lostDisk = await assertDeploymentIsHere(
      this.#run,
      async () => !this.#options.isKnownCluster && (await files.cpiConfigChanged(state.state, properties)),
    );
    if (lostDisk !== undefined) assertDiskExists(state, lostDisk, desiredDisk(manifest));
    await assertAgentReachableAfterMove(this.#run, manifest);
    await assertAgentMatches(this.#run, mbus);
  }

  async #openTemplates(): Promise<TemplatesToRender> {
    const { manifest, stemcell, releases: archives } = this.#valid;
    const names = manifest.instanceGroup.jobs.map(({ release }) => release);
    return {
      manifest,
      releases: await openReleases(archives, names),
      renderer: this.#options.renderer,
      directory: this.#session.directory,
      hasEmbeddedAgent: hasEmbeddedAgent(stemcell.summary.cloudProperties),
    };
  }

  #vmSpecification(stemcell: StemcellRecord): VmSpecification {
    const diskCids = this.#run.state.state.disks.map(({ cid }) => cid);
    return vmSpecification(this.#valid.manifest, stemcell, diskCids);
  }

  /** Deletes the old VM, creates the new one and moves the disk. There is no update in place. */
  async #replaceVm(stage: Stage, stemcell: StemcellRecord, skipDrain: boolean): Promise<void> {
    const run = this.#run;
    const { manifest } = this.#valid;
    const instance = this.#instance;
    const specification = this.#vmSpecification(stemcell);
    await withContext(`Deleting existing instance '${instance}'`, () =>
      deleteCurrentVm(run, stage, { instance, skipDrain }),
    );
    await withContext(`Creating instance '${instance}'`, async () => {
      const vmCid = await this.#createVm(stage, specification);
      await withContext('Updating instance disks', () =>
        deployDisk(run, stage, {
          ...{ vmCid, desired: desiredDisk(manifest), metadata: diskMetadata(manifest) },
          recreate: this.#options.recreatePersistentDisks,
        }),
      );
    });
  }

  /** Creates the VM and waits for its agent. Returns the VM's cid. */
  async #createVm(stage: Stage, specification: VmSpecification): Promise<string> {
    const run = this.#run;
    const { manifest } = this.#valid;
    const { cid: vmCid, agentId } = await stage.perform(
      `Creating VM for instance '${this.#instance}' from stemcell '${specification.stemcellCid}'`,
      () =>
        withContext('Creating VM', async () => {
          const vm = await createVm(run, specification);
          await withContext('Setting VM metadata', () =>
            run.cloud.setVmMetadata(vm.cid, vmMetadata(manifest, run.clock.now())),
          );
          return vm;
        }),
    );
    await withContext('Waiting until instance is ready', () =>
      stage.perform(`Waiting for the agent on VM '${vmCid}' to be ready`, async () => {
        await waitForAgent(run, newAgentBudget, { cloud: run.cloud, vmCid });
        await waitForExpectedAgent(run, { vmCid, agentId, mbus: manifest.cloudProvider.mbus });
      }),
    );
    return vmCid;
  }

  /** Deploys the jobs to the new VM and starts them. Returns the instance's address. */
  async #deployJobs(
    stage: Stage,
    stemcell: StemcellRecord,
    templates: TemplatesToRender,
  ): Promise<string | undefined> {
    const { agent } = this.#run;
    const { manifest } = this.#valid;
    const instance = this.#instance;
    const networks = networkInterfaces(manifest);
    const identity = { deployment: manifest.name, name: manifest.instanceGroup.name, networks };
    // The first spec has no jobs. Through it the agent learns its networks and can report its address.
    await withContext('Applying the initial agent state', () => agent.apply(applySpec(identity)));
    const state = await withContext(`Getting state for instance '${instance}'`, () => agent.getState());
    const address = instanceAddress(networks, state.addresses);
    const archive = await withContext(`Rendering job templates for instance '${instance}'`, () =>
      stage.perform('Rendering job templates', () => this.#uploadTemplates(templates, address)),
    );
    const packages = await withContext(`Compiling job package dependencies for instance '${instance}'`, () =>
      this.#compilePackages(stage, stemcell, templates),
    );
    const jobs = jobsToRender(templates).map(({ job }) => job);
    const spec = applySpec(identity, { jobs, packages, templates: archive });
    await updateInstance(this.#run, stage, { instance, spec, watchTime: manifest.updateWatchTime });
    return address;
  }

  async #uploadTemplates(
    templates: TemplatesToRender,
    address: string | undefined,
  ): Promise<{ blobstoreId: string; sha1: string }> {
    const rendered = await renderTemplates(this.#run, templates, address);
    const archive = join(this.#session.directory.temporary, 'rendered.tgz');
    const digest = await packRenderedJobs(rendered, archive);
    return { blobstoreId: await this.#run.agent.putBlob(archive), sha1: digest };
  }

  #compilePackages(stage: Stage, { name, version }: StemcellRecord, templates: TemplatesToRender) {
    const { agent, warn } = this.#run;
    const jobs = jobsToRender(templates).map(({ job }) => job);
    const packagesOf = (release: Release): string[] =>
      jobs.filter((job) => release.jobs.includes(job)).flatMap((job) => job.packages);
    const cache = new CompiledPackageCache(this.#session.directory.compiledPackages);
    return compilePackages(
      { agent, cache, stemcell: `${name}/${version}`, warn },
      stage,
      templates.releases.map((release) => ({ release, names: packagesOf(release) })),
    );
  }

  async #recordDeployed(): Promise<void> {
    const { files, state, ports } = this.#session;
    const { releases, sha512 } = this.#valid;
    await files.recordManifestDigests(this.#valid);
    const records = releases.map(({ summary: { name, version } }) => ({ id: ports.uuid(), name, version }));
    await state.change(recordDeployed(sha512, records));
  }
}
