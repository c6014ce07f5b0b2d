import { chmod, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { programsOf } from '../../bosh/monit/monit-service.ts';
import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { writeDurableFile } from '../file/files.ts';
import type { JobSupervisor } from '../monit/job-supervisor.ts';
import { resolveOwner } from '../monit/launch.ts';
import { readMonitFiles, type MonitFile } from '../monit/monit-files.ts';
import { vcapGroup, type Identities } from '../user/identities.ts';
import { installSpec, type InstalledSpec, type InstallOptions } from './install-spec.ts';
import type { ApplySpec, SpecFile } from './spec.ts';

export interface ApplyOptions extends InstallOptions {
  readonly directories: Directories;
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
  const installed = await installSpec(spec, options);
  const files = await readMonitFiles(installed.jobs);
  checkOwners(files, options.identities);
  await enableSpec(installed, files, options);
  await options.specFile.write(spec);
  options.supervisor.setBlocker('spec', undefined);
  await options.bundles.removeUnused(installed);
}

/**
 * Restores the recorded spec when the agent starts: the links, the directories and the supervisor's
 * processes. Starts none of the processes. Throws if an installed job or package is missing and its blob
 * cannot replace it.
 */
export async function restoreSpec(spec: ApplySpec, options: ApplyOptions): Promise<void> {
  if (spec.configurationHash === '') return;
  const installed = await installSpec(spec, options);
  await enableSpec(installed, await readMonitFiles(installed.jobs), options);
}

function checkOwners(files: readonly MonitFile[], identities: Identities): void {
  for (const service of files.flatMap((file) => file.services))
    for (const program of programsOf(service)) resolveOwner(program, service.job, identities);
}

/**
 * Makes an installed spec the one in use: services, links, directories, monit files and instance files.
 * Idempotent: a start of the agent repeats it for the recorded spec, which undoes an interrupted apply.
 */
async function enableSpec(
  installed: InstalledSpec,
  monitFiles: readonly MonitFile[],
  { directories, identities, bundles, supervisor }: ApplyOptions,
): Promise<void> {
  await supervisor.load(monitFiles.flatMap((file) => file.services));
  for (const job of installed.jobs) await makeJobDirectories(job.name, directories, identities);
  await bundles.enable(installed);
  await writeMonitFiles(monitFiles, directories);
  await writeInstanceFiles(installed.spec, directories);
  await writeLogrotateFile(installed.spec, directories);
}

/**
 * Creates the directories of a job: sys/log/<job>, sys/run/<job> and data/<job>, root:vcap, mode 0770
 * (bosh-agent: agent/applier/models/job.go). Leaves existing directories as they are. Throws
 * AGENT_PATH_UNSAFE if one of them is a link.
 */
async function makeJobDirectories(
  job: string,
  directories: Directories,
  identities: Identities,
): Promise<void> {
  for (const path of [directories.log, directories.run, directories.data]) {
    await using parent = await DirectoryHandle.open(path);
    const isNew = await parent.makeDirectory(job, 0o770);
    await using directory = await parent.directory(job);
    if (isNew) await directory.chownToRoot(vcapGroup(identities), 0o770);
  }
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
 * Writes the configuration with which the stemcell runs logrotate in each folder of the jobs' logs
 * (src/stemcell/root/rotate-logs.sh; bosh-agent: platform/linux_platform.go, SetupLogrotate). A job keeps its
 * log open, so the log is copied and truncated.
 */
async function writeLogrotateFile({ maxLogFileSize }: ApplySpec, { logrotate }: Directories): Promise<void> {
  const options = ['missingok', 'copytruncate', 'compress', 'rotate 7', `size ${maxLogFileSize}`];
  const lines = ['/proc/self/cwd/*.log /proc/self/cwd/.*.log {', ...options.map((line) => `  ${line}`), '}'];
  await mkdir(dirname(logrotate), { recursive: true });
  await writeDurableFile(logrotate, `${lines.join('\n')}\n`, 0o644);
}
