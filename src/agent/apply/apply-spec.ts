import { programsOf } from '../../bosh/monit/monit-service.ts';
import type { BlobStore } from '../blob/blob-store.ts';
import type { JobSupervisor } from '../monit/job-supervisor.ts';
import { resolveOwner } from '../monit/launch.ts';
import { readMonitFiles, type MonitFile } from '../monit/monit-files.ts';
import type { ApplySpec, SpecFile } from './spec.ts';
import type { Identities } from '../user/identities.ts';
import { collectBundles, bundlesOf } from './bundle-collection.ts';
import { enableSpec } from './enable-spec.ts';
import { installSpec, type InstallOptions } from './install-spec.ts';

export interface ApplyOptions extends InstallOptions {
  readonly blobs: BlobStore;
  readonly specFile: SpecFile;
  readonly supervisor: JobSupervisor;
}

/**
 * Makes a spec the VM's state: installs it, checks that its jobs can be supervised, makes it the one in use,
 * and then writes bosh/spec.json. If the agent dies before that write, the old spec stays in effect (the next
 * start of the agent restores its links), and the call can be repeated. A spec without a configuration_hash
 * is only recorded (bosh-agent: agent/action/apply.go).
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
  // Rendered templates contain secrets, and the installed jobs no longer need the archive.
  if (spec.renderedTemplates !== undefined) await options.blobs.remove(spec.renderedTemplates.blobId);
}

/**
 * Restores the recorded spec when the agent starts: the links, the directories and the supervisor's
 * processes. Starts none of the processes. Throws if an installed job or package is missing and its blob
 * cannot replace it.
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
