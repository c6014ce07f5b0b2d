import { ProductError } from '../errors/product-error.ts';
import { placeholderHost } from '../oci/image-reference.ts';
import type { AgentProperties } from '../bosh/stemcell/stemcell.ts';
import { isNameOf, type OsRelease, systemName } from './source/os-release.ts';
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
  /** Absent for upstream's agent. */
  readonly agent?: AgentProperties;
  /** Absent if the image has no os-release. */
  readonly osRelease?: OsRelease | undefined;
}

/**
 * Returns the operating system of a stemcell. Throws INVALID_ARGUMENT if neither the request nor the source
 * names it.
 */
export function operatingSystemOf(
  request: IdentityRequest,
  facts: Pick<SourceMetadata, 'operatingSystem'>,
): string {
  const operatingSystem = request.operatingSystem ?? facts.operatingSystem;
  if (operatingSystem !== undefined) return operatingSystem;
  throw new ProductError(
    'INVALID_ARGUMENT',
    'The source does not name its operating system, on which compiled releases depend; add --operating-system NAME, such as ubuntu-noble',
  );
}

/**
 * Returns the names of a stemcell and its image. Throws INVALID_ARGUMENT if neither the request nor the
 * source names the operating system. If the name is that of another one than the image's os-release says, it
 * throws INVALID_ARGUMENT for a name of the request and STEMCELL_INVALID for that of the source. Without
 * os-release, `warn` receives a sentence.
 */
export function resolveIdentity(
  request: IdentityRequest,
  facts: SourceMetadata,
  warn: (sentence: string) => void,
): StemcellIdentity {
  const operatingSystem = operatingSystemOf(request, facts);
  const code = request.operatingSystem === undefined ? 'STEMCELL_INVALID' : 'INVALID_ARGUMENT';
  checkOperatingSystem({ name: operatingSystem, code }, facts.osRelease, warn);
  const name = request.name ?? facts.name;
  const version =
    request.version ?? facts.version ?? `1.0.0-${facts.content.slice('sha256:'.length).slice(0, 12)}`;
  const image = request.image ?? `${placeholderHost}/${repositoryOf(name)}:${tagOf(version)}`;
  const { architecture, agent = {} } = facts;
  return { name, version, operatingSystem, image, architecture, agent };
}

/**
 * A director selects compiled packages by the name of the operating system. A Debian that is called
 * ubuntu-noble would receive packages that need a newer C library than it has.
 */
function checkOperatingSystem(
  { name, code }: { readonly name: string; readonly code: 'STEMCELL_INVALID' | 'INVALID_ARGUMENT' },
  osRelease: OsRelease | undefined,
  warn: (sentence: string) => void,
): void {
  if (osRelease === undefined) {
    warn(
      `The image has no file os-release that names its distribution, so it is not known whether it is '${name}': ` +
        'packages that are compiled for another operating system may not run in it',
    );
  } else if (!isNameOf(name, osRelease)) {
    const own = systemName(osRelease);
    throw new ProductError(
      code,
      `The operating system cannot be called '${name}', because os-release of the image says that it is ${own}. A director would ` +
        `give it packages that are compiled for '${name}'. Use --operating-system ${own}, or ${own}- with a suffix`,
    );
  }
}

/** A name of a stemcell may contain characters that the name of an image may not. */
const repositoryOf = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '') || 'stemcell';

const tagOf = (version: string): string => version.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 128);
