import type { Stemcell } from './stemcell.ts';

export interface OpenStemcellOptions {
  readonly archivePath: string;
  /** Made when it does not exist; what it holds is replaced. The caller removes it. */
  readonly directory: string;
}

/** Unpacks a stemcell archive. STEMCELL_INVALID names the archive and what is wrong; the image's sha1 is verified when given. */
export async function openStemcell(options: OpenStemcellOptions): Promise<Stemcell> {
  throw new Error(`openStemcell is not written yet (${options.archivePath})`);
}
