import { join } from 'node:path';
import { renderJobs, type JobToRender, type RenderedJob } from '../../bosh/template/render-job.ts';
import type { Manifest } from '../../bosh/manifest/manifest.ts';
import { networkInterfaces } from '../../bosh/manifest/read-networks.ts';
import { sortByDependencies, type MonitService } from '../../bosh/monit/monit-service.ts';
import { parseMonit } from '../../bosh/monit/parse-monit.ts';
import { readMonitTexts } from '../../bosh/monit/read-monit-texts.ts';
import type { Release } from '../../bosh/release/release.ts';
import type { TemplateRenderer } from '../../bosh/template/template-renderer.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { withContext } from '../../platform/error-chain.ts';
import { jobOfRelease } from '../archive/release-archive.ts';
import type { InstallationDirectory } from '../install/installation-directory.ts';
import type { Run } from '../session.ts';
import { instanceAddress } from './apply-spec.ts';

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

interface JobOfRelease {
  readonly name: string;
  readonly release: string;
}

/**
 * Reads the monit files of rendered jobs as our agent does. Throws MONIT_INVALID with one line for each file
 * that the agent would reject.
 */
export async function checkMonitFiles(
  rendered: readonly RenderedJob[],
  jobs: readonly JobOfRelease[],
): Promise<void> {
  const problems: string[] = [];
  const note = <T>(read: () => readonly T[]): readonly T[] => {
    try {
      return read();
    } catch (error) {
      if (!isProductError(error)) throw error;
      problems.push(error.message);
      return [];
    }
  };
  const services: MonitService[] = [];
  for (const { name, directory } of rendered)
    for (const { text } of await readMonitTexts(directory))
      services.push(...note(() => parseMonit(text, name)));
  if (problems.length === 0) note(() => sortByDependencies(services));
  if (problems.length === 0) return;
  throw new ProductError(
    'MONIT_INVALID',
    `The agent of this stemcell does not support these statements of the rendered monit files:\n${problems.map((one) => withRelease(one, jobs)).join('\n')}`,
  );
}

/** Returns for example `release 'web', job 'server': monit line 5, …`. */
function withRelease(problem: string, jobs: readonly JobOfRelease[]): string {
  const job = jobs.find(({ name }) => problem.startsWith(`job '${name}': `));
  return job === undefined ? problem : `release '${job.release}', ${problem}`;
}
