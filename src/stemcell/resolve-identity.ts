import { ProductError } from '../errors/product-error.ts';
import { placeholderHost } from '../oci/image-reference.ts';
import type { StemcellIdentity } from './write-stemcell.ts';

/** The operator's settings; if one is absent, the source's metadata applies. */
export interface IdentityRequest {
  readonly name?: string | undefined;
  readonly version?: string | undefined;
  readonly operatingSystem?: string | undefined;
  /** Name of the image, without digest. */
  readonly image?: string | undefined;
}

/** The metadata of a source. */
export interface SourceMetadata extends IdentityRequest {
  readonly name: string;
  /** `sha256:<hex>`; becomes the version if no other is given, so that other content gets another version. */
  readonly content: string;
  readonly architecture: string;
  readonly hasEmbeddedAgent?: boolean;
}

/**
 * Returns the names of a stemcell and its image. Throws INVALID_ARGUMENT if neither the request nor the
 * source names the operating system.
 */
export function resolveIdentity(request: IdentityRequest, facts: SourceMetadata): StemcellIdentity {
  const operatingSystem = request.operatingSystem ?? facts.operatingSystem;
  if (operatingSystem === undefined)
    throw new ProductError(
      'INVALID_ARGUMENT',
      'The source does not name its operating system, on which compiled releases depend; add --operating-system NAME, such as ubuntu-noble',
    );
  const name = request.name ?? facts.name;
  const version =
    request.version ?? facts.version ?? `1.0.0-${facts.content.slice('sha256:'.length).slice(0, 12)}`;
  const image = request.image ?? `${placeholderHost}/${repositoryOf(name)}:${tagOf(version)}`;
  const { architecture, hasEmbeddedAgent = false } = facts;
  return { name, version, operatingSystem, image, architecture, hasEmbeddedAgent };
}

/** A name of a stemcell may contain characters that the name of an image may not. */
const repositoryOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '') || 'stemcell';

const tagOf = (version: string): string => version.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 128);
