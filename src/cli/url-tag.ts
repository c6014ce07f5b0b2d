import type { Manifest } from '../bosh/manifest/manifest.ts';
import { ProductError } from '../errors/product-error.ts';

/**
 * Throws MANIFEST_INVALID if the tag `url`, which `up` prints last, is not a URL, because a reader of the
 * last line would expect it to work. For `create-env` a tag may have any value, as in bosh.
 */
export function checkUrlTag({ tags, tagPlaces }: Pick<Manifest, 'tags' | 'tagPlaces'>): void {
  const { url } = tags;
  // `localhost:8080` would be a URL with the scheme `localhost`.
  if (url === undefined || (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) && URL.canParse(url))) return;
  throw new ProductError(
    'MANIFEST_INVALID',
    `${tagPlaces['url']}: it is not a URL like http://10.0.0.6:8080/, and 'up' ends with it; leave the tag out where there is none`,
  );
}
