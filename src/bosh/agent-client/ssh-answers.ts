import { isIP } from 'node:net';
import { isObject } from '../../platform/fields.ts';
import { isPublicKey } from '../ssh/ssh-user.ts';
import type { LogBundle, SshLogin } from './agent-client.ts';
import type { AgentTasks } from './agent-tasks.ts';

/**
 * Parses the result of `ssh setup`. Root of the VM controls it, and it becomes an argument of ssh and a line
 * of known_hosts.
 */
export function parseSshLogin(value: unknown, tasks: AgentTasks): SshLogin {
  const { status, ip, host_public_key: given } = isObject(value) ? value : {};
  const hostKey = typeof given === 'string' ? given.trim() : '';
  if (status === 'success' && typeof ip === 'string' && isIP(ip) !== 0 && isPublicKey(hostKey))
    return { address: ip, hostKey };
  throw tasks.unexpected('ssh', 'a success with the address of the VM and the public key of its sshd');
}

/**
 * Parses the result of `bundle_logs`. The path becomes an argument of scp, so only characters without a
 * meaning for a shell are allowed.
 */
export function parseLogBundle(value: unknown, tasks: AgentTasks): LogBundle {
  const { logs_tar_path: path, sha512: digest } = isObject(value) ? value : {};
  const sha512 = /^sha512:([0-9a-f]{128})$/.exec(typeof digest === 'string' ? digest : '')?.[1];
  if (typeof path === 'string' && /^\/[\w./-]{1,1000}$/.test(path) && sha512 !== undefined)
    return { path, sha512 };
  throw tasks.unexpected('bundle_logs', 'the path of an archive with its SHA-512');
}
