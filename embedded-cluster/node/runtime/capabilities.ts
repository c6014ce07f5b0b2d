import { ProductError } from '../../../src/errors/product-error.ts';

/** The capabilities of a container that requests none: containerd's default (containerd: pkg/oci/spec.go). */
const defaultCapabilities = [
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'setgid',
  'setuid',
  'setpcap',
  'net_bind_service',
  'net_raw',
  'sys_chroot',
  'mknod',
  'audit_write',
  'setfcap',
] as const;

/** All of capabilities(7), spelled as setpriv(1) expects them. */
const allCapabilities: readonly string[] = [
  ...defaultCapabilities,
  'audit_control',
  'audit_read',
  'block_suspend',
  'bpf',
  'checkpoint_restore',
  'dac_read_search',
  'ipc_lock',
  'ipc_owner',
  'lease',
  'linux_immutable',
  'mac_admin',
  'mac_override',
  'net_admin',
  'net_broadcast',
  'perfmon',
  'sys_admin',
  'sys_boot',
  'sys_module',
  'sys_nice',
  'sys_pacct',
  'sys_ptrace',
  'sys_rawio',
  'sys_resource',
  'sys_time',
  'sys_tty_config',
  'syslog',
  'wake_alarm',
];

/**
 * Capabilities that are not needed to mount or to inspect other pods. A pod with Bidirectional mounts shares
 * the node's user namespace, so it does not get the capabilities with which it could act as the node. Without
 * sys_ptrace it cannot enter the node's own root and namespaces, whose /proc/sys is writable. It still sees
 * the mounts of other pods, because their user namespaces are children of its own (user_namespaces(7)).
 */
const machineCapabilities: readonly string[] = [
  'audit_control',
  'audit_read',
  'block_suspend',
  'bpf',
  'checkpoint_restore',
  'linux_immutable',
  'mac_admin',
  'mac_override',
  'mknod',
  'net_admin',
  'perfmon',
  'sys_boot',
  'sys_module',
  'sys_nice',
  'sys_ptrace',
  'sys_rawio',
  'sys_resource',
  'sys_time',
  'sys_tty_config',
  'syslog',
  'wake_alarm',
];

export interface CapabilityRequest {
  readonly privileged: boolean;
  readonly ownUserNamespace: boolean;
  readonly add: readonly string[];
  readonly drop: readonly string[];
}

function parseName(name: string): string {
  const known = name.toLowerCase().replace(/^cap_/, '');
  if (known !== 'all' && !allCapabilities.includes(known)) {
    throw new ProductError('INVALID_ARGUMENT', `capability ${name} is not known to the embedded node`);
  }
  return known;
}

/** Returns the bounding set of a container, sorted; `undefined` means all capabilities. */
export function boundingSet(request: CapabilityRequest): string[] | undefined {
  if (request.privileged) {
    return request.ownUserNamespace
      ? undefined
      : allCapabilities.filter((name) => !machineCapabilities.includes(name)).toSorted();
  }
  const add = request.add.map(parseName);
  const drop = request.drop.map(parseName);
  const base = add.includes('all') ? allCapabilities : drop.includes('all') ? [] : defaultCapabilities;
  const kept = base.filter((name) => !drop.includes(name));
  return [...new Set([...kept, ...add.filter((name) => name !== 'all')])].toSorted();
}
