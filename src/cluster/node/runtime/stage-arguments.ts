import type { ContainerPlan, ContainerSecurity } from './container-runtime.ts';

export interface StagePaths {
  /** stage.sh */
  readonly script: string;
  readonly plan: string;
  readonly image: string;
  readonly root: string;
  readonly oldRoot: string;
}

/** setpriv(1) down to what the container asked for; it dies with its parent, whatever its parent dies of. */
function privileges(security: ContainerSecurity, clearGroups: boolean): string[] {
  const { boundingSet, user, group } = security;
  return [
    'setpriv',
    ...(boundingSet === undefined
      ? []
      : ['--bounding-set', ['-all', ...boundingSet.map((name) => `+${name}`)].join(',')]),
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
  ...['unshare', '--mount', '--uts', '--ipc', '--propagation', 'unchanged', '--'],
];

const sharesMounts = (plan: ContainerPlan): boolean =>
  plan.mounts.some((mount) => mount.propagation === 'Bidirectional');

/** Arguments of the unshare(1) that starts a container: namespaces, stage.sh, then the container's first process. */
export function stageArguments(plan: ContainerPlan, paths: StagePaths, clearGroups: boolean): string[] {
  const shared = sharesMounts(plan);
  return [
    ...['--mount', '--uts', '--ipc', '--propagation', shared ? 'unchanged' : 'slave'],
    ...(plan.nodePids ? [] : ['--pid']),
    ...['--fork', '--kill-child', '--', '/bin/sh', paths.script],
    ...[paths.plan, paths.image, paths.root, paths.oldRoot, shared ? 'shared' : 'private'],
    ...(plan.userNamespace === undefined ? [] : enterUserNamespace),
    ...privileges(plan.security, clearGroups),
    ...['/bin/sh', '/etc/bosh-kubernetes/container-init.sh', plan.workingDirectory],
  ];
}

/** Arguments of the nsenter(1) that runs one more command in a container. */
export function execArguments(plan: ContainerPlan, pid: number, clearGroups: boolean): string[] {
  return [
    ...['--target', String(pid), '--mount', '--uts', '--ipc'],
    ...(plan.nodePids ? [] : ['--pid']),
    ...(plan.userNamespace === undefined ? [] : ['--user', '--preserve-credentials']),
    '--',
    ...privileges(plan.security, clearGroups),
    ...['/bin/sh', '/etc/bosh-kubernetes/container-exec.sh', plan.workingDirectory],
  ];
}
