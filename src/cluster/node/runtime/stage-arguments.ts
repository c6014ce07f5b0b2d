import type { ContainerPlan, ContainerSecurity } from './container-runtime.ts';

export interface StagePaths {
  /** stage.sh */
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

/** setpriv(1) down to what the container asked for; it dies with its parent, whatever its parent dies of. */
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

/** Before /proc is mounted: its sysctls of IPC are those of the namespace of who looks them up. */
const enterIpcNamespace = ['nsenter', '--ipc=/proc/self/fd/5', '--'];

const sharesMounts = (plan: ContainerPlan): boolean =>
  plan.mounts.some((mount) => mount.propagation === 'Bidirectional');

/** The command that starts a container: namespaces, stage.sh, then the container's first process. */
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
 * Program and arguments that run one more command in a container. One that shares the node's user namespace may have
 * mounted something over the programs that are found there: what the container must not have is gone before.
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
