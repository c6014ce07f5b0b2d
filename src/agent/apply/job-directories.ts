import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Directories } from '../directories.ts';
import { errorCode } from '../file/error-code.ts';
import { giveToVcap } from '../user/vcap-group.ts';
import type { Identities } from '../user/identities.ts';

/**
 * Makes the folders that a job finds: sys/log/<job>, sys/run/<job> and data/<job>, root:vcap, mode 0770
 * (bosh-agent: agent/applier/models/job.go). Folders that exist are left as they are.
 */
export async function makeJobDirectories(
  job: string,
  directories: Directories,
  identities: Identities,
): Promise<void> {
  for (const parent of [directories.log, directories.run, directories.data]) {
    const path = join(parent, job);
    if (!(await makeDirectory(path))) continue;
    await chmod(path, 0o770);
    await giveToVcap(path, identities);
  }
}

async function makeDirectory(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o770 });
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}
