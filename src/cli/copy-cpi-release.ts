import { constants } from 'node:fs';
import { copyFile, rename } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { archivePathOf } from '../bosh/release/archive-path.ts';
import type { ReleaseManifest } from '../bosh/release/release-manifest.ts';
import { ProductError } from '../errors/product-error.ts';
import { temporaryPath } from '../platform/durable-file.ts';
import { removeTree } from '../platform/remove-tree.ts';
import type { ReleaseArguments } from './args/release-arguments.ts';
import { checkUrl, writeVariables, type CpiRelease } from './build-cpi-release.ts';

interface CopiedRelease extends Pick<CpiRelease, 'variables' | 'variablesPath'> {
  readonly archivePath: string;
}

type CopyRequest = Omit<ReleaseArguments, 'positionals' | 'directory'>;

/**
 * Copies the CPI's release out of the npm package, which contains it at `source`, into the working directory
 * or to the path of the arguments, and writes its variables beside it as buildCpiRelease does. Before it
 * writes, throws INVALID_ARGUMENT if the URL is invalid or if the arguments request another version, which
 * only a checkout can build, and the errors of archivePathOf.
 */
export async function copyCpiRelease(
  source: string,
  release: ReleaseManifest,
  request: CopyRequest,
): Promise<CopiedRelease> {
  assertCopyable(request);
  const { tarball, url } = request;
  const template = resolve(tarball ?? '((name))-release-((version)).tgz');
  const archivePath = archivePathOf(template, release.name, release.version);
  const draft = temporaryPath(archivePath);
  try {
    await copyFile(source, draft, constants.COPYFILE_FICLONE);
    await rename(draft, archivePath);
  } finally {
    await removeTree(draft, { within: dirname(draft) });
  }
  return { archivePath, ...(await writeVariables(release, archivePath, url)) };
}

function assertCopyable({ url, version, final, force, timestampVersion }: CopyRequest): void {
  if (url !== undefined) checkUrl(url);
  if (version !== undefined || [final, force, timestampVersion].includes(true))
    throw new ProductError(
      'INVALID_ARGUMENT',
      'The npm package contains one release of the CPI, that of its version; --version, --timestamp-version, --final and --force ' +
        'need a checkout of the repository',
    );
}
