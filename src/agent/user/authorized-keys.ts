import { chown } from 'node:fs/promises';
import { errorText } from '../file/error-code.ts';
import { DirectoryHandle } from '../file/directory-handle.ts';
import type { Identities } from './identities.ts';

const user = 'vcap';

/**
 * Lets these keys log in as vcap (bosh-agent: platform/linux_platform.go, SetupSSH). vcap's home directory is
 * part of the image, so each start of the agent writes the keys. Returns an error text instead of throwing: a
 * failed login setup must not stop the VM's jobs.
 */
export async function writeAuthorizedKeys(
  keys: readonly string[],
  identities: Identities,
): Promise<string | undefined> {
  if (keys.length === 0) return undefined;
  const [userId, home] = [identities.userId(user), identities.homeOf(user)];
  if (userId === undefined || home === undefined) return `there is no user ${user} here`;
  const group = identities.primaryGroupId(userId);
  if (group === undefined || !identities.canActAsUser(userId) || !identities.canActAsGroup(group))
    return `${user} cannot own files here: this user namespace does not map its id`;
  try {
    await writeKeys(keys, home, [userId, group]);
    return undefined;
  } catch (error) {
    return `${home}/.ssh/authorized_keys could not be written: ${errorText(error)}`;
  }
}

/**
 * Lets keys log in as the user of that home directory. The directories belong to the user, so links there are
 * not followed.
 */
export async function writeKeys(
  keys: readonly string[],
  home: string,
  [userId, group]: readonly [userId: number, group: number],
): Promise<void> {
  await using parent = await DirectoryHandle.open(home);
  await parent.makeDirectory('.ssh', 0o700);
  await using directory = await parent.directory('.ssh');
  await chown(directory.descriptorPath, userId, group);
  await directory.remove('authorized_keys');
  await using file = await directory.file('authorized_keys', 'append', 0o600);
  await file.writeFile(`${keys.map((key) => key.trim()).join('\n')}\n`);
  await file.chown(userId, group);
}
