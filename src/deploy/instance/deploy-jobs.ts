import { join } from 'node:path';
import { packRenderedJobs } from '../../bosh/template/render-job.ts';
import { networkInterfaces } from '../../bosh/manifest/read-networks.ts';
import { withContext } from '../error-chain.ts';
import { CompiledPackageCache } from '../package/compiled-package-cache.ts';
import { compilePackages } from '../package/compile-packages.ts';
import type { Run } from '../run.ts';
import type { Stage } from '../stage/stage.ts';
import { applySpec } from './apply-spec.ts';
import { instanceAddress } from './instance-address.ts';
import { jobsToRender, renderTemplates, type TemplatesToRender } from './render-templates.ts';
import { updateInstance } from './update-instance.ts';

export interface JobsToDeploy extends TemplatesToRender {
  /** The stemcell's name and version. */
  readonly stemcell: string;
}

/** Deploys the jobs to a VM whose agent responds, and starts them. Returns the instance's address. */
export async function deployJobs(
  run: Run,
  stage: Stage,
  deployment: JobsToDeploy,
): Promise<string | undefined> {
  const { manifest, releases } = deployment;
  const { agent } = run;
  const group = manifest.instanceGroup;
  const instance = `${group.name}/0`;
  const networks = networkInterfaces(manifest);
  const identity = { deployment: manifest.name, name: group.name, networks };
  // The first spec has no jobs. Through it the agent learns its networks and can report its address.
  await withContext('Applying the initial agent state', () => agent.apply(applySpec(identity)));
  const state = await withContext(`Getting state for instance '${instance}'`, () => agent.getState());
  const address = instanceAddress(networks, state.addresses);
  const jobs = jobsToRender(deployment);
  const templates = await withContext(`Rendering job templates for instance '${instance}'`, () =>
    stage.perform('Rendering job templates', () => uploadTemplates(run, deployment, address)),
  );
  const packages = await withContext(`Compiling job package dependencies for instance '${instance}'`, () =>
    compilePackages(
      {
        agent,
        cache: new CompiledPackageCache(deployment.directory.compiledPackages),
        stemcell: deployment.stemcell,
        warn: run.warn,
      },
      stage,
      releases.map((release) => ({
        release,
        names: jobs.filter(({ job }) => release.jobs.includes(job)).flatMap(({ job }) => job.packages),
      })),
    ),
  );
  const spec = applySpec(identity, { jobs: jobs.map(({ job }) => job), packages, templates });
  await updateInstance(run, stage, { instance, spec, watchTime: manifest.updateWatchTime });
  return address;
}

async function uploadTemplates(
  run: Run,
  deployment: JobsToDeploy,
  address: string | undefined,
): Promise<{ blobstoreId: string; sha1: string }> {
  const rendered = await renderTemplates(run, deployment, address);
  const archive = join(deployment.directory.temporary, 'rendered.tgz');
  const digest = await packRenderedJobs(rendered, archive);
  return { blobstoreId: await run.agent.putBlob(archive), sha1: digest };
}
