import { join } from 'node:path';
import { renderJobs, type JobToRender, type RenderedJob } from '../../bosh/template/render-job.ts';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { networkInterfaces } from '../../bosh/manifest/read-networks.ts';
import type { Release } from '../../bosh/release/release.ts';
import type { TemplateRenderer } from '../../bosh/template/template-renderer.ts';
import { jobOfRelease } from '../archive/open-releases.ts';
import { withContext } from '../error-chain.ts';
import type { InstallationDirectory } from '../install/installation-directory.ts';
import type { Run } from '../run.ts';
import { checkMonitFiles } from './check-monit-files.ts';
import { instanceAddress } from './instance-address.ts';

export interface TemplatesToRender {
  readonly manifest: Manifest;
  /** The releases that contain the instance group's jobs. */
  readonly releases: readonly Release[];
  readonly renderer: TemplateRenderer;
  readonly directory: InstallationDirectory;
  /** True if the VM's agent is ours, which parses monit files itself. */
  readonly hasEmbeddedAgent: boolean;
}

/** Returns the instance group's jobs with their properties from the manifest. */
export function jobsToRender({ manifest, releases }: TemplatesToRender): readonly JobToRender[] {
  return manifest.instanceGroup.jobs.map((reference) => ({
    job: jobOfRelease(releases, reference),
    jobProperties: reference.properties,
    propertiesPosition: reference.propertiesPosition,
  }));
}

/**
 * Renders the templates into the directory that is emptied at the end of the run, because they contain
 * secrets. Throws MONIT_INVALID if the VM's agent could not run a monit file.
 */
export async function renderTemplates(
  { uuid }: Run,
  templates: TemplatesToRender,
  address: string | undefined,
): Promise<readonly RenderedJob[]> {
  const { manifest, renderer, directory, hasEmbeddedAgent } = templates;
  const rendered = await renderJobs({
    jobs: jobsToRender(templates),
    deployment: manifest.name,
    globalProperties: manifest.properties,
    groupProperties: manifest.instanceGroup.properties,
    address,
    id: uuid(),
    directory: join(directory.temporary, 'rendered'),
    renderer,
  });
  if (hasEmbeddedAgent) await checkMonitFiles(rendered, manifest.instanceGroup.jobs);
  return rendered;
}

/**
 * Renders all templates while the VM to be replaced still runs, only to find errors early. Does nothing if
 * the new address is dynamic or if there is no VM to lose: bosh's own step then reports the errors.
 */
export async function checkTemplates(run: Run, templates: TemplatesToRender): Promise<void> {
  const address = instanceAddress(networkInterfaces(templates.manifest), {});
  if (run.state.state.current_vm_cid === '' || address === undefined) return;
  await withContext(`Rendering job templates for instance '${templates.manifest.instanceGroup.name}/0'`, () =>
    renderTemplates(run, templates, address),
  );
}
