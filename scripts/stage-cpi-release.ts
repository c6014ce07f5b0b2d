import { cp, mkdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CpiArtefacts } from './build-cpi.ts';
import { linkOrCopy } from './link-or-copy.ts';

const release = join(dirname(dirname(fileURLToPath(import.meta.url))), 'release');

/**
 * Makes the release directory of the CPI in `staging`, whose content it replaces: `release` with the
 * built CPI among its sources, and with LICENSE and NOTICE of what that contains.
 */
export async function stageCpiRelease({ bundle, executable }: CpiArtefacts, staging: string): Promise<void> {
  await rm(staging, { recursive: true, force: true });
  for (const name of ['config', 'jobs', 'packages'])
    await cp(join(release, name), join(staging, name), { recursive: true });
  const sources = join(staging, 'src', 'bosh_kubernetes_cpi');
  await mkdir(sources, { recursive: true });
  for (const file of [bundle, executable]) {
    if (file !== undefined) await linkOrCopy(file, join(sources, basename(file)));
  }
  for (const name of ['LICENSE', 'NOTICE']) await cp(join(dirname(bundle), name), join(staging, name));
}
