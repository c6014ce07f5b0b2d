import { ProductError } from '../errors/product-error.ts';

/** Host, repository and tag, without a digest (github.com/distribution/reference, grammar). */
const pattern =
  /^(?<host>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]{1,5})?)\/(?<repository>[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?$/;

/** A name under which an image is kept. */
export interface ImageName {
  readonly host: string;
  readonly repository: string;
  readonly tag: string;
}

/**
 * Reads `HOST/REPOSITORY[:TAG]`; the tag is `latest` where none is given. The host is asked for, because without one
 * every program completes the name in its own way. INVALID_ARGUMENT otherwise.
 */
export function parseImageName(text: string): ImageName {
  const { host, repository, tag } = pattern.exec(text)?.groups ?? {};
  const isHost = host !== undefined && /[.:]|^localhost$/.test(host);
  if (!isHost || repository === undefined)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${text}' is no name for an image; expected HOST/REPOSITORY:TAG, as in registry.example/stemcells/bookworm:1`,
    );
  return { host, repository, tag: tag ?? 'latest' };
}

/** The name as every program reads it. */
export function formatImageName({ host, repository, tag }: ImageName): string {
  return `${host}/${repository}:${tag}`;
}
