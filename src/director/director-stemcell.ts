import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { hasEmbeddedAgent } from '../bosh/stemcell/embedded-agent.ts';
import { openStemcell } from '../bosh/stemcell/open-stemcell.ts';

/** A stemcell of the director's own VM, or of the VMs that the director makes. */
export interface DirectorStemcell {
  readonly path: string;
  /** As `name/version`. */
  readonly title: string;
  readonly operatingSystem: string;
  /** Our agent speaks no NATS, and a director speaks nothing else to its VMs. */
  readonly hasOurAgent: boolean;
  /** What `stemcell build` made it in, with its image, which has to come to the nodes; else undefined. */
  readonly folder: string | undefined;
}

/** Reads a stemcell's archive. FILE_NOT_FOUND, STEMCELL_INVALID and ARCHIVE_INVALID name it. */
export async function readDirectorStemcell(path: string, scratch: string): Promise<DirectorStemcell> {
  const opened = await openStemcell({
    ...{ archivePath: path, directory: join(scratch, 'stemcell'), within: scratch },
  });
  const folder = dirname(path);
  const isBuilt = basename(path) === 'stemcell.tgz' && existsSync(join(folder, 'image'));
  return {
    path,
    title: `${opened.name}/${opened.version}`,
    operatingSystem: opened.operatingSystem ?? '',
    hasOurAgent: hasEmbeddedAgent(opened.cloudProperties),
    folder: isBuilt ? folder : undefined,
  };
}
