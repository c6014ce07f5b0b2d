import { randomUUID } from 'node:crypto';
import { chmod, open, readFile, rm, chown } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Directories } from '../directories.ts';
import { DirectoryHandle, removeTree } from '../file/directory-handle.ts';
import { readFileIfPresent, outputTail } from '../file/files.ts';
import { errorMessage } from '../file/error-code.ts';
import { describeExit, type Programs, runAgentProgram } from '../process/programs.ts';
import { scriptPath } from '../script/job-script.ts';
import { isSshUser } from '../../bosh/ssh-user.ts';
import type { Identities } from './identities.ts';

// bosh-agent: settings/settings.go. sshd accepts only members of bosh_sshers, sudo only those of
// bosh_sudoers.
const groups = 'vcap,admin,bosh_sudoers,bosh_sshers';
// Upstream's agent reads the same path (bosh-agent: platform/linux_platform.go, GetHostPublicKey).
const hostKeyPath = '/etc/ssh/ssh_host_rsa_key.pub';

export interface SshAccount {
  readonly name: string;
  readonly userId: number;
  readonly groupId: number;
}

export interface SshAccountPorts {
  readonly programs: Programs;
  readonly clock: Clock;
  readonly directories: Directories;
}

/**
 * The accounts that `bosh ssh` creates, one per session: entries of /etc/passwd with a name of {@link
 * isSshUser} and their home in /var/vcap/bosh_ssh. No other account is ever read, changed or removed. A
 * restart of the container restores the image's /etc/passwd, without these accounts.
 */
export class SshAccounts {
  readonly #ports: SshAccountPorts;

  constructor(ports: SshAccountPorts) {
    this.#ports = ports;
  }

  /**
   * Returns the public key of the VM's sshd. Returns undefined if there is no key, which means that the VM
   * has no sshd.
   */
  async hostKey(): Promise<string | undefined> {
    return (await readFileIfPresent(hostKeyPath))?.trim();
  }

  /**
   * Creates an account with one login key. Throws AGENT_ACCOUNT_FAILED if it exists or cannot be created.
   * Removes an account that could not be completed.
   */
  async create(name: string, publicKey: string): Promise<void> {
    const { sshHomes, base } = this.#ports.directories;
    await using parent = await DirectoryHandle.open(base);
    await parent.makeDirectory(basename(sshHomes), 0o755);
    await using homes = await DirectoryHandle.open(sshHomes);
    await homes.chownToRoot(undefined, 0o755);
    await this.#run('useradd', ['-m', '-b', sshHomes, '-s', '/bin/bash', '-G', groups, name]);
    try {
      const account = await this.find(name);
      if (account === undefined) throw new Error(`useradd created no account with its home in ${sshHomes}`);
      const home = join(sshHomes, name);
      await using opened = await homes.directory(name);
      await chmod(opened.descriptorPath, 0o700);
      await writeKeys([publicKey], home, [account.userId, account.groupId]);
    } catch (error) {
      await this.#remove(name);
      throw new ProductError('AGENT_ACCOUNT_FAILED', `account '${name}' has no key: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }

  async find(name: string): Promise<SshAccount | undefined> {
    return (await this.#list()).find((account) => account.name === name);
  }

  /**
   * Removes the accounts whose names begin with `prefix`, with their homes. Does not end their processes.
   * Returns the removed accounts.
   */
  async removeMatching(prefix: string): Promise<readonly SshAccount[]> {
    const matching = (await this.#list()).filter(({ name }) => name.startsWith(prefix));
    for (const { name } of matching) await this.#remove(name);
    return matching;
  }

  /**
   * Removes the home first, because it has the keys. After a crash the account still exists and is removed
   * next time.
   */
  async #remove(name: string): Promise<void> {
    await removeTree(join(this.#ports.directories.sshHomes, name));
    await this.#run('userdel', ['-f', name]);
  }

  async #list(): Promise<readonly SshAccount[]> {
    const entries = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
    return entries.flatMap(([name = '', , userId = '', groupId = '', , home = '']) => {
      if (!isSshUser(name) || home !== join(this.#ports.directories.sshHomes, name)) return [];
      if (![userId, groupId].every((id) => /^[1-9][0-9]*$/.test(id))) return [];
      return [{ name, userId: Number(userId), groupId: Number(groupId) }];
    });
  }

  async #run(file: string, args: readonly string[]): Promise<void> {
    const { directories } = this.#ports;
    const output = join(directories.temporary, `${file}-${randomUUID()}.log`);
    try {
      await using log = await open(output, 'wx', 0o600);
      const request = {
        ...{ file, arguments: args, stdout: log.fd, stderr: log.fd },
        environment: { PATH: scriptPath, LC_ALL: 'C' },
      };
      const exit = await runAgentProgram(this.#ports, request, new AbortController().signal);
      if (exit.code === 0) return;
      const message = (await outputTail(output)).text.trim();
      throw new ProductError(
        'AGENT_ACCOUNT_FAILED',
        `${file} ${describeExit(exit)}${message && `: ${message}`}`,
      );
    } finally {
      await rm(output, { force: true });
    }
  }
}

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
  if (userId === undefined || home === undefined) return `this VM has no user ${user}`;
  const group = identities.primaryGroupId(userId);
  if (group === undefined || !identities.canActAsUser(userId) || !identities.canActAsGroup(group))
    return `${user} cannot own files here: this user namespace does not map its id`;
  try {
    await writeKeys(keys, home, [userId, group]);
    return undefined;
  } catch (error) {
    return `${home}/.ssh/authorized_keys could not be written: ${errorMessage(error)}`;
  }
}

/**
 * Lets keys log in as the user of that home directory. The directories belong to the user, so links there are
 * not followed.
 */
async function writeKeys(
  keys: readonly string[],
  home: string,
  [userId, group]: readonly [userId: number, group: number],
): Promise<void> {
  await using parent = await DirectoryHandle.open(home);
  await parent.makeDirectory('.ssh', 0o700);
  await using directory = await parent.directory('.ssh');
  await chown(directory.descriptorPath, userId, group);
  await directory.remove('authorized_keys');
  await using file = await directory.openFile('authorized_keys', 'append', 0o600);
  await file.writeFile(`${keys.map((key) => key.trim()).join('\n')}\n`);
  await file.chown(userId, group);
}
