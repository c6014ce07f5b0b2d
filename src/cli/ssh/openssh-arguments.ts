import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { shellWord } from '../../platform/shell-word.ts';
import type { ScpPath } from './ssh-arguments.ts';

/** The login of one session in a VM. */
export interface SshLogin {
  readonly user: string;
  /** The VM's IP address. */
  readonly address: string;
  /** The directory with `key` and `known_hosts`. */
  readonly folder: string;
  /** The command through which the address is reached. If absent, it is reached directly. */
  readonly proxyCommand?: string | undefined;
  /** Additional options from the operator. */
  readonly options: readonly string[];
}

// The name in known_hosts. It replaces the address, which the operator's options may change.
export const hostKeyAlias = 'bosh-vm';

/**
 * Returns the options of ssh and scp. OpenSSH uses the first value of an option, so neither the operator's
 * options nor ~/.ssh/config can make it accept another host key. ~/.ssh/config may define how the address is
 * reached.
 */
export function opensshOptions({ folder, proxyCommand, options }: SshLogin): string[] {
  const ours = {
    IdentityFile: quoted(join(folder, 'key')),
    IdentitiesOnly: 'yes',
    PreferredAuthentications: 'publickey',
    PasswordAuthentication: 'no',
    UserKnownHostsFile: quoted(join(folder, 'known_hosts')),
    GlobalKnownHostsFile: '/dev/null',
    HostKeyAlias: hostKeyAlias,
    StrictHostKeyChecking: 'yes',
    UpdateHostKeys: 'no',
    VerifyHostKeyDNS: 'no',
    // Disable connection sharing: an existing connection may belong to another VM with the same address.
    ControlMaster: 'no',
    ControlPath: 'none',
    ForwardAgent: 'no',
    ServerAliveInterval: '30',
    ...(proxyCommand === undefined ? {} : { ProxyCommand: proxyCommand }),
  };
  return [...Object.entries(ours).flatMap(([name, value]) => ['-o', `${name}=${value}`]), ...options];
}

export function sshArguments(login: SshLogin, command: readonly string[]): string[] {
  return [...opensshOptions(login), '-l', login.user, '--', login.address, ...command];
}

export function scpArguments(login: SshLogin, paths: readonly ScpPath[], recursive = false): string[] {
  const host = isIPv6(login.address) ? `[${login.address}]` : login.address;
  const places = paths.map(({ path, isInVm }) => (isInVm ? `${login.user}@${host}:${path}` : path));
  return [...opensshOptions(login), ...(recursive ? ['-r'] : []), '--', ...places];
}

/** Quotes a path for ssh_config(5), with percent signs doubled. */
function quoted(path: string): string {
  return `"${path.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll('%', '%%')}"`;
}

/**
 * Returns a ProxyCommand of `words` followed by host and port. ssh passes it to a shell and expands percent
 * signs.
 */
export function proxyCommandOf(words: readonly string[]): string {
  return [...words.map((word) => shellWord(word).replaceAll('%', '%%')), '%h', '%p'].join(' ');
}
