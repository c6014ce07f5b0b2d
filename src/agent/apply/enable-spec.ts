import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { writeDurableFile, isThere, replaceLink } from '../file/files.ts';
import type { MonitFile } from '../monit/monit-files.ts';
import type { ApplySpec } from './spec.ts';
import { chownToVcap, type Identities, vcapGroup } from '../user/identities.ts';
import { linkBundles, bundlesOf, type Bundle } from './bundle-collection.ts';

/**
 * Makes an installed spec the one in use: links, directories, monit files and instance files. Idempotent: a
 * start of the agent repeats it for the recorded spec, which undoes an interrupted apply.
 */
export async function enableSpec(
  spec: ApplySpec,
  monitFiles: readonly MonitFile[],
  options: { readonly directories: Directories; readonly identities: Identities },
): Promise<void> {
  const { directories, identities } = options;
  const bundles = bundlesOf(spec, directories);
  for (const job of spec.jobs) await makeJobDirectories(job.name, directories, identities);
  await linkBundles(directories.packages, bundles.packages);
  for (const job of bundles.jobs) await linkJobPackages(job.installPath, bundles.packages);
  for (const job of bundles.jobs) await linkBpmReplacement(job, directories);
  await linkBundles(directories.jobs, bundles.jobs);
  for (const path of [directories.jobs, directories.packages]) await chownToVcap(path, identities);
  await writeMonitFiles(monitFiles, directories);
  await writeInstanceFiles(spec, directories);
}

// Links jobs/<job>/packages/<package>, for jobs that use these paths (bosh-agent: rendered_job_applier.go,
// applyPackages).
async function linkJobPackages(
  jobPath: string,
  packages: ReturnType<typeof bundlesOf>['packages'],
): Promise<void> {
  await using job = await DirectoryHandle.open(jobPath);
  await job.makeDirectory('packages', 0o755);
  // Some releases make the job's user the owner of the job's directory.
  await using folder = await job.directory('packages');
  const { descriptorPath } = folder;
  await linkBundles(
    descriptorPath,
    packages.map((bundle) => ({ ...bundle, linkPath: join(descriptorPath, bundle.name) })),
  );
}

async function writeMonitFiles(files: readonly MonitFile[], directories: Directories): Promise<void> {
  await rm(directories.monitJobs, { recursive: true, force: true });
  await mkdir(directories.monitJobs, { recursive: true, mode: 0o700 });
  for (const file of files) await writeDurableFile(join(directories.monitJobs, file.name), file.text);
}

async function writeInstanceFiles(spec: ApplySpec, directories: Directories): Promise<void> {
  const fields = { id: spec.id, az: spec.availabilityZone, name: spec.name, deployment: spec.deployment };
  for (const [name, value] of Object.entries(fields)) {
    await writeDurableFile(join(directories.instance, name), value, 0o644);
  }
  await chmod(directories.instance, 0o755);
}

/**
 * Creates the directories of a job: sys/log/<job>, sys/run/<job> and data/<job>, root:vcap, mode 0770
 * (bosh-agent: agent/applier/models/job.go). Leaves existing directories as they are. Throws
 * AGENT_PATH_UNSAFE if one of them is a link.
 */
export async function makeJobDirectories(
  job: string,
  directories: Directories,
  identities: Identities,
): Promise<void> {
  for (const path of [directories.log, directories.run, directories.data]) {
    await using parent = await DirectoryHandle.open(path);
    const isNew = await parent.makeDirectory(job, 0o770);
    await using directory = await parent.directory(job);
    if (isNew) await directory.giveToRoot(vcapGroup(identities), 0o770);
  }
}

/**
 * Links `bin/bpm` of an installed job bpm to the replacement, if the VM's image has one. The image of the
 * embedded node has one, because that node's kernel does not allow containers in a pod. Otherwise bpm stays
 * as its release installed it. Idempotent.
 */
export async function linkBpmReplacement(job: Bundle, directories: Directories): Promise<void> {
  if (job.name !== 'bpm' || !(await isThere(directories.bpmStandIn))) return;
  const program = join(job.installPath, 'bin', 'bpm');
  if (await isThere(program)) await replaceLink(directories.bpmStandIn, program);
}
