import { spawn, type StdioOptions } from 'node:child_process';
import { isIPv6 } from 'node:net';
import { constants } from 'node:os';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { shellWord } from '../../platform/shell-word.ts';
import type { ScpPath } from './ssh-arguments.ts';

/** The login of one session in a VM. */
export interface SshLogin {
  readonly user: string;
  /** The VM's IP address. */
  readonly address: string;
  /** The directory with `key` and `known_hosts`. */
  readonly directory: string;
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
export function opensshOptions({ directory, proxyCommand, options }: SshLogin): string[] {
  const ours = {
    IdentityFile: quoted(join(directory, 'key')),
    IdentitiesOnly: 'yes',
    PreferredAuthentications: 'publickey',
    PasswordAuthentication: 'no',
    UserKnownHostsFile: quoted(join(directory, 'known_hosts')),
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
  const operands = paths.map(({ path, isInVm }) => (isInVm ? `${login.user}@${host}:${path}` : path));
  return [...opensshOptions(login), ...(recursive ? ['-r'] : []), '--', ...operands];
}

/** Quotes a path for ssh_config(5), with percent signs doubled. */
function quoted(path: string): string {
  return `"${path.replaceAll(/[\\"]/g, String.raw`\$&`).replaceAll('%', '%%')}"`;
}

/**
 * Returns a ProxyCommand of `args` followed by host and port. ssh passes it to a shell and expands percent
 * signs.
 */
export function proxyCommandOf(args: readonly string[]): string {
  return [...args.map((word) => shellWord(word).replaceAll('%', '%%')), '%h', '%p'].join(' ');
}

export interface OpensshRun {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Ends the program when it is aborted. */
  readonly signal: AbortSignal;
  /** Receives stdout instead of this process's stdout. stdin is then empty. */
  readonly onOutput?: ((text: string) => void) | undefined;
  /** Receives the lines of stderr, which a VM can write to. If absent, stderr is inherited. */
  readonly onMessage?: ((line: string) => void) | undefined;
}

/**
 * Runs a program of OpenSSH on this process's streams. Returns its exit code, or 128 plus the number of the
 * signal that ended it. Rejects with SSH_FAILED if the program is not installed.
 */
export function runOpenssh(file: string, args: readonly string[], run: OpensshRun): Promise<number> {
  const { environment, signal, onOutput, onMessage } = run;
  return new Promise((resolve, reject) => {
    const stdio: StdioOptions = [
      ...(onOutput === undefined ? (['inherit', 'inherit'] as const) : (['ignore', 'pipe'] as const)),
      onMessage === undefined ? 'inherit' : 'pipe',
    ];
    const child = spawn(file, args, { env: environment, stdio });
    const stop = (): void => void child.kill('SIGTERM');
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    if (onOutput !== undefined) child.stdout?.setEncoding('utf8').on('data', onOutput);
    if (onMessage !== undefined)
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        for (const line of text.split('\n')) if (line.trim() !== '') onMessage(line.trimEnd());
      });
    child.once('error', (error: NodeJS.ErrnoException) => {
      signal.removeEventListener('abort', stop);
      const missing = `There is no '${file}' on PATH: install OpenSSH's client (Debian: openssh-client)`;
      reject(error.code === 'ENOENT' ? new ProductError('SSH_FAILED', missing) : error);
    });
    child.once('close', (code, name) => {
      signal.removeEventListener('abort', stop);
      resolve(code ?? 128 + (name === null ? 0 : constants.signals[name]));
    });
  });
}
