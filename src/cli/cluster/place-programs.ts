import { constants, existsSync } from 'node:fs';
import { chmod, copyFile, cp, link, mkdir, rename, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import product from '../../../package.json' with { type: 'json' };
import { besideCluster, builtCluster } from '../../../embedded-cluster/index.ts';
import { ProductError } from '../../errors/product-error.ts';
import { readOwnJson } from '../../platform/read-own-json.ts';
import { removeTree } from '../../platform/remove-tree.ts';
import { writeFile } from '../../platform/write-file.ts';
import type { Installation } from '../installation.ts';

/** The programs with which a cluster starts. */
export interface ClusterPrograms {
  readonly nodeBinary: string;
  /** Contains Node and the agent for the VMs. */
  readonly runtimeDirectory: string;
  readonly main: string;
}

const programsIn = (directory: string): ClusterPrograms => ({
  nodeBinary: join(directory, 'runtime', 'node'),
  runtimeDirectory: join(directory, 'runtime'),
  main: join(directory, 'cluster', 'main.mjs'),
});

/**
 * Returns the programs of the running cluster; undefined if there are none (an earlier version started
 * it).
 */
export function findPrograms({ programsDirectory }: Installation): ClusterPrograms | undefined {
  const programs = programsIn(programsDirectory);
  const { nodeBinary, main } = programs;
  return [nodeBinary, main, besideCluster(main)].every((path) => existsSync(path)) ? programs : undefined;
}

/**
 * Puts copies of the cluster's programs beside the cluster, because npm removes those of the package
 * while the cluster and its VMs run them. Node is a link if possible. Replaces the copies of an earlier
 * start; call it only while the cluster is stopped, and with the lock of the installation.
 */
export async function placePrograms(installation: Installation): Promise<ClusterPrograms> {
  const { root, nodeBinary, runtimeDirectory, programsDirectory } = installation;
  const within = dirname(programsDirectory);
  const draft = draftOf(programsDirectory);
  await removeTree(draft, { within });
  const placed = programsIn(draft);
  await mkdir(placed.runtimeDirectory, { recursive: true });
  await cp(dirname(builtCluster(root)), dirname(placed.main), { recursive: true });
  // Users of a VM must be able to read these two, whatever the umask of the shell.
  const agent = join(placed.runtimeDirectory, 'agent.cjs');
  await copyFile(join(runtimeDirectory, 'agent.cjs'), agent);
  await chmod(agent, 0o644);
  await placeNode(nodeBinary, placed.nodeBinary);
  const description = { version: product.version, type: 'module' };
  await writeFile(recordIn(draft), `${JSON.stringify(description)}\n`, { mode: 0o600 });
  await removeTree(programsDirectory, { within });
  await rename(draft, programsDirectory);
  return programsIn(programsDirectory);
}

/** Removes the copies of a cluster that is removed, also those that a killed start left. */
export async function removePrograms({ programsDirectory }: Installation): Promise<void> {
  for (const path of [programsDirectory, draftOf(programsDirectory)])
    await removeTree(path, { within: dirname(programsDirectory) });
}

const draftOf = (programsDirectory: string): string => `${programsDirectory}.new`;

/**
 * The package.json of the copies. The cluster sees its folder, and it records the version of the last
 * start.
 */
const recordIn = (directory: string): string => join(directory, 'package.json');

async function placeNode(from: string, to: string): Promise<void> {
  const { uid, mode } = await stat(from);
  if (uid === process.geteuid?.() && (mode & 0o555) === 0o555) {
    try {
      return await link(from, to);
    } catch (error) {
      // Another file system, or one without links.
      const { code = '' } = error as NodeJS.ErrnoException;
      if (!['EXDEV', 'EPERM', 'EMLINK', 'EOPNOTSUPP'].includes(code)) throw error;
    }
  }
  await copyFile(from, to, constants.COPYFILE_FICLONE);
  await chmod(to, 0o755);
}

/**
 * Returns the version that started this cluster last; undefined if there was none, or one without a record.
 * Throws CLUSTER_START if it is newer than this version, which may not understand the data of the cluster.
 * If a killed start has removed the copies of the last one, its own version counts, which is not older.
 */
export async function findStartedVersion({ programsDirectory }: Installation): Promise<string | undefined> {
  const draft = recordIn(draftOf(programsDirectory));
  const placed = await readVersion(recordIn(programsDirectory));
  const recorded = placed ?? (await readVersion(draft));
  const { version } = product;
  if (recorded === undefined || !isNewer(recorded, version)) return recorded;
  const unlessUsed = placed === undefined ? `; if that version has never run here, remove '${draft}'` : '';
  throw new ProductError(
    'CLUSTER_START',
    `The cluster in '${dirname(programsDirectory)}' was last started by bosh-kubernetes ${recorded}, and this is ${version}, ` +
      `which may not understand its data; nothing was changed. Install bosh-kubernetes ${recorded} or newer${unlessUsed}`,
  );
}

function readVersion(path: string): Promise<string | undefined> {
  return readOwnJson(
    path,
    (file) => file.get('version').nonEmptyString(),
    (problem, cause) =>
      new ProductError(
        'CLUSTER_START',
        `File '${path}', which names the version that started the cluster last, is not what 'up' wrote: ${problem}; ` +
          'remove it if that version was not newer than this one',
        { cause },
      ),
  );
}

/** Compares major, minor and patch. */
function isNewer(version: string, other: string): boolean {
  const [ours, theirs] = [version, other].map((each) =>
    (/^[\d.]+/u.exec(each)?.[0] ?? '').split('.').map(Number),
  );
  const index = [0, 1, 2].find((part) => ours?.[part] !== theirs?.[part]);
  return index !== undefined && (ours?.[index] ?? 0) > (theirs?.[index] ?? 0);
}
