import { ProductError } from '../../../errors/product-error.ts';

/** What a container has that asks for nothing: containerd's default (containerd: pkg/oci/spec.go). */
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

/** capabilities(7), in the spelling of setpriv(1). */
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
 * Rights that neither mounts nor a look at other pods need. A pod with Bidirectional mounts shares the node's user
 * namespace and is refused what would let it act as the node. Without sys_ptrace it does not get at the node's own root
 * and namespaces, whose /proc/sys is writable; it still sees what other pods have mounted, because their user namespaces
 * are children of its own (user_namespaces(7)).
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

/** The bounding set a container gets, sorted; `undefined` means all there are. */
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
