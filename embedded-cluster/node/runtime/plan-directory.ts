import { chmod, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { formatFstab, type FstabEntry } from '../mounts/fstab.ts';
import { flagsToPreserve, mountOf } from '../mounts/mount-table.ts';
import type { MountEntry } from '../../../src/platform/mountinfo.ts';
import { formatCommandFile } from './command-file.ts';
import { fstabEntries, bindOptions } from './container-fstab.ts';
import type { ContainerMount, ContainerPlan } from './container-runtime.ts';
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

function formatBatch(batch: readonly ContainerMount[], surroundings: PlanContext): [string, string][] {
  const targets = (kind: ContainerMount['kind']): string[] =>
    batch.filter((mount) => mount.kind === kind).map((mount) => mount.target);
  const fstab = formatFstab(
    batch.map((mount) => ({
      source: `/${surroundings.oldRoot}${mount.source}`,
      target: mount.target,
      type: 'none',
      options: bindOptions(mount, flagsToPreserve(mountOf(surroundings.table, mount.source))),
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
export function formatPlan(plan: ContainerPlan, surroundings: PlanContext): Map<string, string> {
  const batches = fstabEntries(plan.mounts).map((batch) => formatBatch(batch, surroundings));
  const volumes = batches.flatMap((files, index) =>
    files.map(([name, content]): [string, string] => [
      `volumes-${String(index).padStart(2, '0')}/${name}`,
      content,
    ]),
  );
  return new Map([
    ['hostname', `${plan.hostname}\n`],
    ['fstab', formatFstab(surroundings.rootMounts)],
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
