import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hasEmbeddedAgent, speaksNats } from '../bosh/stemcell/stemcell.ts';
import { openStemcell } from '../bosh/stemcell/open-stemcell.ts';

/** A stemcell of the director's own VM, or of the VMs that the director creates. */
export interface DirectorStemcell {
  readonly path: string;
  /** `name/version`. */
  readonly title: string;
  readonly version: string;
  readonly operatingSystem: string;
  readonly hasOurAgent: boolean;
  /** False for our agent of an earlier version. A director calls the agents of its VMs only by NATS. */
  readonly speaksNats: boolean;
  /** It names an image, which nodes can run. */
  readonly isLight: boolean;
  /**
   * The output folder of `stemcell build` with the stemcell and its image, which must be loaded onto the
   * nodes; undefined for another stemcell.
   */
  readonly directory: string | undefined;
}

/**
 * Reads the archive of a stemcell. Rejects with FILE_NOT_FOUND, STEMCELL_INVALID or ARCHIVE_INVALID, which
 * name it.
 */
export async function readDirectorStemcell(path: string, scratch: string): Promise<DirectorStemcell> {
  const opened = await openStemcell({
    ...{ archivePath: path, directory: join(scratch, 'stemcell'), within: scratch },
  });
  const directory = dirname(path);
  const isBuilt = basename(path) === 'stemcell.tgz' && existsSync(join(directory, 'image'));
  return {
    path,
    title: `${opened.name}/${opened.version}`,
    version: opened.version,
    operatingSystem: opened.operatingSystem ?? '',
    hasOurAgent: hasEmbeddedAgent(opened.cloudProperties),
    speaksNats: speaksNats(opened.cloudProperties),
    isLight: typeof opened.cloudProperties['image_reference'] === 'string',
    directory: isBuilt ? directory : undefined,
  };
}
