import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { shellWord } from '../../platform/shell-word.ts';
import type { ScpPath } from './ssh-arguments.ts';

/** One login to a VM. */
export interface SshLogin {
  readonly user: string;
  /** An IP address. */
  readonly address: string;
  /** Has `key` and `known_hosts`. */
  readonly folder: string;
  /** By way of which the address is reached; absent: directly. */
  readonly proxyCommand?: string | undefined;
  /** More options, as the operator gave them. */
  readonly options: readonly string[];
}

// in known_hosts instead of the address, which the operator's options may replace
export const hostKeyAlias = 'bosh-vm';

/**
 * Options of ssh and scp. OpenSSH takes the first value of an option, so that neither the operator's nor
 * ~/.ssh/config lets another key of a host pass; ~/.ssh/config may say how the address is reached.
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
    // a connection that runs may lead to another VM of the same address
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

/** A path as ssh_config(5) reads one: in quotes, a percent sign doubled. */
function quoted(path: string): string {
  return `"${path.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll('%', '%%')}"`;
}

/**
 * A ProxyCommand of `words`, followed by the host and port: ssh hands it to a shell, and expands what follows
 * a percent sign.
 */
export function proxyCommandOf(words: readonly string[]): string {
  return [...words.map((word) => shellWord(word).replaceAll('%', '%%')), '%h', '%p'].join(' ');
}
