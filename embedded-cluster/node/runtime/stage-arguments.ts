import type { ContainerPlan, ContainerSecurity } from './container-runtime.ts';

export interface StagePaths {
  /** The path of stage.sh. */
  readonly script: string;
  readonly plan: string;
  readonly image: string;
  readonly root: string;
  readonly oldRoot: string;
}

const boundingOptions = ({ boundingSet }: ContainerSecurity): string[] =>
  boundingSet === undefined
    ? []
    : ['--bounding-set', ['-all', ...boundingSet.map((name) => `+${name}`)].join(',')];

/**
 * Returns a setpriv(1) command that reduces the privileges to those that the container requests. The process
 * dies with its parent, whatever the reason of the parent's death is.
 */
function privileges(security: ContainerSecurity, clearGroups: boolean): string[] {
  const { user, group } = security;
  return [
    'setpriv',
    ...boundingOptions(security),
    ...(security.noNewPrivileges ? ['--no-new-privs'] : []),
    ...(user === 0 ? [] : ['--reuid', String(user)]),
    ...(group === 0 ? [] : ['--regid', String(group)]),
    ...(clearGroups ? ['--clear-groups'] : []),
    '--pdeathsig',
    'KILL',
    '--',
  ];
}

const enterUserNamespace = [
  ...['nsenter', '--preserve-credentials', '--user=/proc/self/fd/3', '--'],
  ...['unshare', '--mount', '--uts', '--propagation', 'unchanged', '--'],
];

/**
 * Entered before /proc is mounted: its IPC sysctls are those of the namespace of the process that looks them
 * up.
 */
const enterIpcNamespace = ['nsenter', '--ipc=/proc/self/fd/5', '--'];

const sharesMounts = (plan: ContainerPlan): boolean =>
  plan.mounts.some((mount) => mount.propagation === 'Bidirectional');

/** Returns the command that starts a container: namespaces, stage.sh, then the container's first process. */
export function stageArguments(plan: ContainerPlan, paths: StagePaths, clearGroups: boolean): string[] {
  const shared = sharesMounts(plan);
  return [
    ...(plan.namespaces === undefined ? [] : enterIpcNamespace),
    ...['unshare', '--mount', '--uts', '--propagation', shared ? 'unchanged' : 'slave'],
    ...(plan.namespaces === undefined ? ['--ipc'] : []),
    ...(plan.nodePids ? [] : ['--pid']),
    ...['--fork', '--kill-child', '--', '/bin/sh', paths.script],
    ...[paths.plan, paths.image, paths.root, paths.oldRoot, shared ? 'shared' : 'private'],
    ...(plan.namespaces === undefined ? [] : enterUserNamespace),
    ...privileges(plan.security, clearGroups),
    ...['/bin/sh', '/etc/bosh-kubernetes/container-init.sh', plan.workingDirectory],
  ];
}

/**
 * Returns the program and arguments that run one more command in a container. A container that shares the
 * node's user namespace may have mounted something over the programs that are found there. So the
 * capabilities that the container must not have are dropped before.
 */
export function execArguments(plan: ContainerPlan, pid: number, clearGroups: boolean): string[] {
  return [
    ...(plan.namespaces === undefined ? ['setpriv', ...boundingOptions(plan.security), '--'] : []),
    ...['nsenter', '--target', String(pid), '--mount', '--uts', '--ipc'],
    ...(plan.nodePids ? [] : ['--pid']),
    ...(plan.namespaces === undefined ? [] : ['--user', '--preserve-credentials']),
    '--',
    ...privileges(plan.security, clearGroups),
    ...['/bin/sh', '/etc/bosh-kubernetes/container-exec.sh', plan.workingDirectory],
  ];
}
