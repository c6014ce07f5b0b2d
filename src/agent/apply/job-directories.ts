import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { vcapGroup } from '../user/vcap-group.ts';
import type { Identities } from '../user/identities.ts';

/**
 * Makes the folders that a job finds: sys/log/<job>, sys/run/<job> and data/<job>, root:vcap, mode 0770
 * (bosh-agent: agent/applier/models/job.go). Folders that exist are left as they are; a link in the place of one is
 * AGENT_PATH_UNSAFE.
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
