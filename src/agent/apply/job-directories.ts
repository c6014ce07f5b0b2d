import type { Directories } from '../directories.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import { vcapGroup } from '../user/vcap-group.ts';
import type { Identities } from '../user/identities.ts';

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
