import { chmod, lchown, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Identities } from './identities.ts';

/**
 * Returns the group id of BOSH's directories (bosh-agent: agent/applier/models/job.go). Returns undefined if
 * there is no such group or if this user namespace does not map it. Directories keep the agent's own group
 * then.
 */
export function vcapGroup(identities: Identities): number | undefined {
  const id = identities.groupId('vcap');
  return id !== undefined && identities.canActAsUser(0) && identities.canActAsGroup(id) ? id : undefined;
}

/** Changes the owner of a path to root:vcap if that is possible. */
export async function chownToVcap(path: string, identities: Identities): Promise<void> {
  const group = vcapGroup(identities);
  if (group !== undefined) await lchown(path, 0, group);
}

/**
 * Sets the modes of a BOSH VM on rendered job files: directories and `bin/` files 0750, other files 0640,
 * root:vcap (bosh-agent: agent/applier/jobs/owner_fix.go). Does not change links.
 */
export async function fixJobPermissions(directory: string, identities: Identities): Promise<void> {
  const fix = async (path: string, mode: number): Promise<void> => {
    await chmod(path, mode);
    await chownToVcap(path, identities);
  };
  await fix(directory, 0o750);
  const bin = `${join(directory, 'bin')}/`;
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory() || (entry.isFile() && path.startsWith(bin))) await fix(path, 0o750);
    else if (entry.isFile()) await fix(path, 0o640);
  }
}
