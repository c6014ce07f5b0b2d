import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { packArchive, type ArchiveEntry } from '../../src/bosh/archive/pack-archive.ts';
import { packRelease, type ReleaseOrigin } from '../../src/bosh/release/pack-release.ts';
import { checkUrl, writeVariables } from '../../src/cli/build-cpi-release.ts';
import { packVolumesRelease } from '../../src/cli/pack-volumes-release.ts';
import { replaceFile } from '../../src/platform/durable-file.ts';
import { removeTree } from '../../src/platform/remove-tree.ts';
import { allEnded } from '../all-ended.ts';
import { buildStaticIp } from '../build-static-ip.ts';
import { stageCpiRelease } from '../stage-cpi-release.ts';
import { makeBillOfMaterials } from './make-bill-of-materials.ts';
import type { Commit } from './read-commit.ts';

const root = dirname(dirname(import.meta.dirname));

export interface ArtefactOptions {
  readonly outDirectory: string;
  readonly version: string;
  readonly commit: Commit;
  /**
   * The later URL of the archive of the CPI's release for its block of variables, in which `((name))` and
   * `((version))` are replaced. The default is file:// and the archive's path.
   */
  readonly url?: string | undefined;
}

/**
 * Packs everything that belongs to a version besides the npm package, from the last build (dist/): the
 * releases of the CPI and of the volume services, the installer of static-ip (only on Linux on x86-64),
 * the bill of materials, and the block of variables for manifests/bosh-deployment/cpi.yml. Then writes
 * the sums of all files of this version in `outDirectory` (`writeSums`). Replaces existing files. The
 * same commit, version and URL give the same bytes on the same machine. Returns the paths, the file of
 * sums last.
 */
export async function packArtefacts(options: ArtefactOptions): Promise<readonly string[]> {
  const { version, commit, url } = options;
  if (url !== undefined) checkUrl(url);
  const outDirectory = resolve(options.outDirectory);
  await mkdir(outDirectory, { recursive: true });
  const to = (name: string): string => join(outDirectory, name);
  const cpi = to(`bosh-kubernetes-cpi-release-${version}.tgz`);
  const volumes = to(`bosh-kubernetes-volumes-release-${version}.tgz`);
  const staticIp = to(`static-ip-${version}.tgz`);
  const bill = to(`bosh-kubernetes-${version}.cdx.json`);
  const origin = { commitHash: commit.hash.slice(0, 12), uncommittedChanges: commit.hasChanges };
  const [hasStaticIp] = await allEnded([
    packStaticIp(staticIp, `static-ip-${version}`),
    packCpi(cpi, version, origin),
    packVolumesRelease({ root, nodeBinary: process.execPath, version, origin, outFile: volumes }),
  ]);
  const { variablesPath } = await writeVariables({ name: 'bosh-kubernetes', version }, cpi, url);
  const content = await makeBillOfMaterials({ version, commit, hasBun: hasStaticIp });
  replaceFile(bill, `${JSON.stringify(content, undefined, 2)}\n`, 0o644);
  const sums = await writeSums(outDirectory, version);
  return [cpi, variablesPath, volumes, ...(hasStaticIp ? [staticIp] : []), bill, sums];
}

/**
 * Writes SHA256SUMS, which `sha256sum -c` reads, with all files of the version in the directory. Their names
 * contain it: files of other versions are not listed. Returns its path.
 */
export async function writeSums(directory: string, version: string): Promise<string> {
  const names = (await readdir(directory)).filter(
    (name) => name.includes(`-${version}.`) && !name.startsWith('.'),
  );
  const lines: string[] = [];
  for (const name of names.toSorted()) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(join(directory, name)), hash);
    lines.push(`${hash.digest('hex')}  ${name}\n`);
  }
  const path = join(directory, 'SHA256SUMS');
  replaceFile(path, lines.join(''), 0o644);
  return path;
}

async function packCpi(outFile: string, version: string, origin: ReleaseOrigin): Promise<void> {
  const built = join(root, 'dist', 'cpi');
  const executable = join(built, 'cpi');
  const within = dirname(outFile);
  const directory = join(within, '.cpi-release');
  try {
    const artefacts = {
      bundle: join(built, 'cpi.cjs'),
      executable: existsSync(executable) ? executable : undefined,
    };
    await stageCpiRelease(artefacts, directory);
    await packRelease({ directory, version, outFile, origin });
  } finally {
    await removeTree(directory, { within });
  }
}

/**
 * Packs the executable with its licences, and with the files by which it is installed on the nodes of a
 * cluster. Returns false if Bun cannot run here to build it.
 */
async function packStaticIp(outFile: string, folder: string): Promise<boolean> {
  const built = await buildStaticIp(join(root, 'dist', 'static-ip'));
  if (built === undefined) return false;
  const manifests = join(root, 'manifests', 'static-ip');
  const paths = [
    ...['LICENSE', 'NOTICE'].map((name) => join(dirname(built), name)),
    ...['Dockerfile', 'daemonset.yaml', 'remove.yaml'].map((name) => join(manifests, name)),
    built,
  ];
  const files = await Promise.all(
    paths.map(async (path): Promise<ArchiveEntry> => {
      const name = `${folder}/${basename(path)}`;
      return {
        kind: 'file',
        name,
        mode: path === built ? 0o755 : 0o644,
        path,
        size: (await stat(path)).size,
      };
    }),
  );
  await packArchive([{ kind: 'directory', name: `${folder}/`, mode: 0o755 }, ...files], outFile);
  return true;
}
