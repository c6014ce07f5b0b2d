import { ProductError } from '../errors/product-error.ts';

/** Host, repository and tag, without a digest (github.com/distribution/reference, grammar). */
const pattern =
  /^(?<host>[a-zA-Z0-9][a-zA-Z0-9.-]*(?::[0-9]{1,5})?)\/(?<repository>[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?$/;

/** The name of an image without its digest. */
export interface ImageName {
  readonly host: string;
  readonly repository: string;
  readonly tag: string;
}

/**
 * Parses `HOST/REPOSITORY[:TAG]`; the default tag is `latest`. The host is required, because each program
 * completes a name without a host in its own way. Otherwise throws INVALID_ARGUMENT.
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

/** Returns the full name, which every program reads alike. */
export function formatImageName({ host, repository, tag }: ImageName): string {
  return `${host}/${repository}:${tag}`;
}
