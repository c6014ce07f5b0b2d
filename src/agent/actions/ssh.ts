import { ProductError } from '../../errors/product-error.ts';
import type { Directories } from '../directories.ts';
import type { Settings } from '../settings/settings.ts';
import type { JsonObject } from '../../platform/json.ts';
import type { SshAccounts } from '../user/ssh-accounts.ts';
import { isPublicKey, isSshUser, sshUserPrefix } from '../../bosh/ssh-user.ts';
import { type Action, argument } from './action.ts';
import { removeBundlesOf } from './logs.ts';

export interface SshOptions {
  readonly directories: Directories;
  readonly settings: Settings;
  readonly sshAccounts: SshAccounts;
  /** Returns the VM's own address, for dynamic networks. */
  readonly ownAddress: () => Promise<string>;
}

/**
 * `ssh ["setup", {user, public_key}]` -> `{command, status, ip, host_public_key}`, and `ssh ["cleanup",
 * {user_regex}]` -> `{command, status}` (bosh-agent: agent/action/ssh.go). Upstream's agent accepts any name
 * and any expression. This one accepts only accounts of `bosh ssh`.
 */
export function ssh(options: SshOptions): Action {
  return {
    mode: 'synchronous',
    async run(args) {
      const command = argument(args, 0, 'command').nonEmptyString();
      const parameters = argument(args, 1, 'parameters').required().record();
      if (command === 'setup') return setUp(parameters, options);
      if (command === 'cleanup') return cleanUp(parameters, options);
      throw invalid(`the command must be setup or cleanup, not '${command}'`);
    },
  };
}

async function setUp(parameters: JsonObject, { settings, sshAccounts, ownAddress }: SshOptions) {
  const { user, public_key: given } = parameters;
  if (typeof user !== 'string' || !isSshUser(user))
    throw invalid('the user must be bosh_ followed by lower-case letters and digits, at most 32 characters');
  const publicKey = typeof given === 'string' ? given.trim() : '';
  if (!isPublicKey(publicKey)) throw invalid('the public_key must be one RSA, Ed25519 or ECDSA key');
  // Read the host key before anything is changed, as upstream's agent does.
  const hostKey = await sshAccounts.hostKey();
  if (hostKey === undefined) {
    throw new ProductError(
      'AGENT_NOT_SUPPORTED',
      'this VM runs no sshd, or has not made its host key yet: /etc/ssh/ssh_host_rsa_key.pub is missing. ' +
        `VMs of the embedded cluster have none; enter those with: kubectl --kubeconfig FILE exec -it ${settings.vmName} -- bash`,
    );
  }
  if (!isPublicKey(hostKey)) throw new Error('/etc/ssh/ssh_host_rsa_key.pub is not a public key');
  const ip = defaultAddress(settings) ?? (await ownAddress());
  if (ip === '') throw new ProductError('AGENT_NOT_SUPPORTED', 'this VM has no address');
  await sshAccounts.create(user, publicKey);
  return { command: 'setup', status: 'success', ip, host_public_key: hostKey };
}

async function cleanUp(parameters: JsonObject, { sshAccounts, directories }: SshOptions) {
  const { user_regex: expression } = parameters;
  const prefix = typeof expression === 'string' ? sshUserPrefix(expression) : undefined;
  if (prefix === undefined) {
    throw invalid('the user_regex must be ^bosh_ followed by lower-case letters and digits');
  }
  // A client that was killed could not call remove_file.
  for (const account of await sshAccounts.removeMatching(prefix)) await removeBundlesOf(account, directories);
  return { command: 'cleanup', status: 'success' };
}

/**
 * Returns the address on a default network, otherwise on any network (bosh-agent: settings/settings.go,
 * DefaultIP).
 */
function defaultAddress({ networks }: Settings): string | undefined {
  const all = [...networks.values()].filter(({ type }) => type !== 'vip');
  return (all.find(({ isDefault }) => isDefault) ?? all[0])?.ip;
}

function invalid(cause: string): ProductError {
  return new ProductError('AGENT_ARGUMENT_INVALID', cause);
}
