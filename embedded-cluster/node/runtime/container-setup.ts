import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { formatFstab, type FstabEntry, flagsToPreserve, mountOf, type MountSource } from '../mounts.ts';
import type { MountEntry } from '../../../src/platform/mountinfo.ts';
import { formatCommandFile } from './command-file.ts';
import { fstabEntries, bindOptions } from './container-fstab.ts';
import type { ContainerMount, ContainerPlan, ContainerSecurity } from './container-runtime.ts';
import { writeFile } from '../../../src/platform/write-file.ts';

export interface PlanContext {
  /** The mounts of the root directory itself. */
  readonly rootMounts: readonly FstabEntry[];
  /** The mounts of the node, for the flags that a read-only bind must repeat. */
  readonly table: readonly MountEntry[];
  /** The name of the node's root while volumes are bound (stage.sh). */
  readonly oldRoot: string;
}

const lines = (paths: readonly string[]): string => paths.map((path) => `${path}\n`).join('');

function formatBatch(batch: readonly ContainerMount[], context: PlanContext): [string, string][] {
  const targets = (kind: ContainerMount['kind']): string[] =>
    batch.filter((mount) => mount.kind === kind).map((mount) => mount.target);
  const fstab = formatFstab(
    batch.map((mount) => ({
      source: `/${context.oldRoot}${mount.source}`,
      target: mount.target,
      type: 'none',
      options: bindOptions(mount, flagsToPreserve(mountOf(context.table, mount.source))),
    })),
  );
  return [
    ['directories', lines([...targets('directory'), ...targets('file').map((path) => dirname(path))])],
    ['files', lines(targets('file'))],
    ['fstab', fstab],
  ];
}

/**
 * Returns the files that stage.sh reads, by name. Rejects a plan that cannot run before anything is written.
 */
export function formatPlan(plan: ContainerPlan, context: PlanContext): Map<string, string> {
  const batches = fstabEntries(plan.mounts).map((batch) => formatBatch(batch, context));
  const volumes = batches.flatMap((files, index) =>
    files.map(([name, content]): [string, string] => [
      `volumes-${String(index).padStart(2, '0')}/${name}`,
      content,
    ]),
  );
  return new Map([
    ['hostname', `${plan.hostname}\n`],
    ['fstab', formatFstab(context.rootMounts)],
    ['command', formatCommandFile(plan)],
    ...(plan.security.readOnlyRoot ? [['read-only-root', ''] satisfies [string, string]] : []),
    ...[...plan.files].map(([path, content]): [string, string] => [`files${path}`, content]),
    ...volumes,
  ]);
}

/**
 * Writes a plan. The command's file contains the environment: only root can enter its directory, and the
 * container's user reads the file through a descriptor.
 */
export async function writePlan(directory: string, files: ReadonlyMap<string, string>): Promise<void> {
  await mkdir(join(directory, 'files'), { recursive: true });
  for (const [name, content] of files) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
    await chmod(path, 0o644);
  }
}

/**
 * Returns the path of a shell script of this folder, or beside the bundle if this code is bundled
 * (scripts/build.ts).
 */
export const scriptPath = (name: string): string => join(import.meta.dirname, name);

export interface ExpectedMount {
  readonly target: string;
  readonly source: MountSource;
  readonly readOnly: boolean;
}

/**
 * Compares the mounts that the kernel made in a container with the requested ones. Returns the difference as
 * a sentence. This detects a directory that another container of the pod replaced by a symlink between the
 * plan and the mount.
 */
export function findMountMismatch(
  expected: readonly ExpectedMount[],
  table: readonly MountEntry[],
): string | undefined {
  for (const { target, source, readOnly } of expected) {
    const entry = table.findLast((each) => each.target === target);
    if (entry === undefined) {
      return `nothing was mounted at ${target}`;
    }
    if (entry.device !== source.device || entry.root !== source.path) {
      return `${entry.root} was mounted at ${target} where ${source.path} was asked for`;
    }
    if (readOnly && !entry.options.includes('ro')) {
      return `${target} was to be read-only`;
    }
  }
  return undefined;
}

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
 * The namespace is entered before /proc is mounted, because the IPC sysctls of a /proc belong to the
 * namespace of the process that looks them up.
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
