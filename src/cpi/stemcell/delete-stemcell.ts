import type { Cloud } from '../cloud.ts';
import { stringAt } from '../input.ts';

/**
 * delete_stemcell(cid). A light stemcell is a reference to an image that others own, so there is nothing of ours to
 * remove; nodes drop images that no pod uses by themselves. Any cid succeeds, as the contract asks.
 */
export async function deleteStemcell(_cloud: Cloud, args: readonly unknown[]): Promise<null> {
  stringAt(args[0], { code: 'INVALID_ARGUMENT', path: 'delete_stemcell.stemcell_cid' });
  return null;
}
