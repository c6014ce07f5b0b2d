import { programsOf } from '../../bosh/monit/monit-service.ts';
import type { BlobStore } from '../blob/blob-store.ts';
import type { JobSupervisor } from '../monit/job-supervisor.ts';
import { resolveOwner } from '../monit/launch.ts';
import { readMonitFiles } from '../monit/monit-file.ts';
import type { MonitFile } from '../monit/monit-file.ts';
import type { ApplySpec } from '../spec/apply-spec.ts';
import type { SpecFile } from '../spec/spec-file.ts';
import type { Identities } from '../user/identities.ts';
import { collectBundles } from './bundle.ts';
import { enableSpec } from './enable-spec.ts';
import { installSpec } from './install-spec.ts';
import type { InstallOptions } from './install-spec.ts';
import { bundlesOf } from './spec-bundles.ts';

export interface ApplyOptions extends InstallOptions {
  readonly blobs: BlobStore;
  readonly specFile: SpecFile;
  readonly supervisor: JobSupervisor;
}

/**
 * Makes a spec the VM's state: installs it, checks that its jobs can be supervised, makes it the one in use, and
 * writes bosh/spec.json as the last step that matters. Killed before that, the VM is still what the old spec says
 * (the next start of the agent restores its links) and the call can be repeated. A spec without a
 * configuration_hash is only recorded (bosh-agent: agent/action/apply.go).
 */
export async function applySpec(spec: ApplySpec, options: ApplyOptions): Promise<void> {
  if (spec.configurationHash === '') return options.specFile.write(spec);
  const { directories } = options;
  await installSpec(spec, options);
  const files = await readMonitFiles(spec, directories);
  checkOwners(files, options.identities);
  await options.supervisor.load(files.flatMap((file) => file.services));
  await enableSpec(spec, files, options);
  await options.specFile.write(spec);
  options.supervisor.hold('spec', undefined);
  const bundles = bundlesOf(spec, directories);
  await collectBundles(directories.dataJobs, bundles.jobs);
  await collectBundles(directories.dataPackages, bundles.packages);
  // rendered templates hold secrets; what is installed does not need the archive any more
  if (spec.renderedTemplates !== undefined) await options.blobs.remove(spec.renderedTemplates.blobId);
}

/**
 * Restores the recorded spec when the agent starts: links, folders and the supervisor's processes, none of them
 * started. Throws where an installed job or package is gone.
 */
export async function restoreSpec(spec: ApplySpec, options: ApplyOptions): Promise<void> {
  if (spec.configurationHash === '') return;
  await installSpec(spec, options);
  const files = await readMonitFiles(spec, options.directories);
  await options.supervisor.load(files.flatMap((file) => file.services));
  await enableSpec(spec, files, options);
}

function checkOwners(files: readonly MonitFile[], identities: Identities): void {
  for (const service of files.flatMap((file) => file.services))
    for (const program of programsOf(service)) resolveOwner(program, service.job, identities);
}
