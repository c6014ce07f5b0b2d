import { constants } from 'node:fs';
import { copyFile, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { ReleaseManifest } from '../bosh/release/release-manifest.ts';
import { ProductError } from '../errors/product-error.ts';
import { temporaryPath } from '../platform/durable-file.ts';
import { removeTree } from '../platform/remove-tree.ts';
import type { ReleaseArguments } from './args/release-arguments.ts';
import { writeVariables, type CpiRelease } from './build-cpi-release.ts';

interface CopiedRelease extends Pick<CpiRelease, 'variables' | 'variablesPath'> {
  readonly archivePath: string;
}

/**
 * Copies the CPI's release out of the npm package, which contains it at `source`, into the working
 * directory or to the path of the arguments, and writes its variables beside it as buildCpiRelease does.
 * Throws INVALID_ARGUMENT if the arguments request another version, which only a checkout can build.
 */
export async function copyCpiRelease(
  source: string,
  release: ReleaseManifest,
  {
    tarball,
    url,
    version,
    final,
    force,
    timestampVersion,
  }: Omit<ReleaseArguments, 'positionals' | 'directory'>,
): Promise<CopiedRelease> {
  if (version !== undefined || [final, force, timestampVersion].includes(true))
    throw new ProductError(
      'INVALID_ARGUMENT',
      'The npm package contains one release of the CPI, that of its version; --version, --timestamp-version, --final and --force ' +
        'need a checkout of the repository',
    );
  const archivePath = resolve(tarball ?? '((name))-release-((version)).tgz')
    .replaceAll('((name))', release.name)
    .replaceAll('((version))', release.version);
  const draft = temporaryPath(archivePath);
  try {
    await copyFile(source, draft, constants.COPYFILE_FICLONE);
    await rename(draft, archivePath);
  } finally {
    await removeTree(draft, { within: dirname(draft) });
  }
  return { archivePath, ...(await writeVariables(release, archivePath, url)) };
}
