const mebibyte = 1024 * 1024;

/**
 * Limits of an archive, so that a few kilobytes of gzip fill neither a disk nor the memory. All are far above
 * what published releases, stemcells and images have.
 */
export const archiveLimits = {
  /**
   * Bytes of a manifest in it (release.MF, job.MF, stemcell.MF), and of any other YAML file that is read at
   * once.
   */
  manifest: 4 * mebibyte,
  /** Unpacked bytes: a heavy stemcell has about 3 GiB, a release with files for Windows 9 GiB. */
  total: 16 * 1024 * mebibyte,
  /**
   * Unpacked bytes of all jobs of a release together: templates of a few kilobytes. Each job may be a link to
   * the same archive.
   */
  jobs: 1024 * mebibyte,
  /** Bytes of all templates that are rendered together, because they are in memory. */
  templates: 64 * mebibyte,
  /** Files, directories and links. The root of a large stemcell has about 200,000. */
  entries: 300_000,
  /** Characters of all names and link targets together, which are in memory while the archive is unpacked. */
  names: 32 * mebibyte,
} as const;

/** Limits that a test may lower. */
export type ArchiveLimits = { readonly [Name in keyof typeof archiveLimits]: number };

/** PATH_MAX of Linux. */
const maxNameLength = 4096;

/** Counts the entries of one archive as they are read. */
export class EntryCounter {
  readonly #limits: ArchiveLimits;
  #entries = 0;
  #names = 0;

  constructor(limits: ArchiveLimits = archiveLimits) {
    this.#limits = limits;
  }

  /** Returns why the next entry is rejected, by its name and link target, or undefined if it is accepted. */
  add(name: string, target: string): string | undefined {
    // A pax record may contain any text.
    if (name.includes('\0') || target.includes('\0')) return 'has a NUL in its name or its link target';
    if (name.length > maxNameLength || target.length > maxNameLength)
      return `has a name or a target longer than ${maxNameLength} characters`;
    this.#entries += 1;
    this.#names += name.length + target.length;
    if (this.#entries > this.#limits.entries) return `exceeds the limit of ${this.#limits.entries} entries`;
    if (this.#names > this.#limits.names)
      return `exceeds the limit of ${this.#limits.names} characters for all names`;
    return undefined;
  }
}

/** Counts the unpacked bytes of several archives against one common limit. */
export class ByteBudget {
  readonly limits: ArchiveLimits;
  readonly entries: EntryCounter;
  #bytes = 0;

  constructor(limits: ArchiveLimits = archiveLimits) {
    this.limits = limits;
    this.entries = new EntryCounter(limits);
  }

  /**
   * Returns a transform that passes bytes on. Beyond the limit it throws the error that `refusal` makes from
   * `more than N bytes`.
   */
  limit(
    refusal: (excess: string) => Error,
  ): (source: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array> {
    return (source) => this.#passOn(source, refusal);
  }

  async *#passOn(
    source: AsyncIterable<Uint8Array>,
    refusal: (excess: string) => Error,
  ): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.#bytes += chunk.length;
      if (this.#bytes > this.limits.total) throw refusal(`more than ${this.limits.total} bytes`);
      yield chunk;
    }
  }
}

/** Returns an entry's name in a form for error messages. */
export function printableName(name: string): string {
  return (name.length > 200 ? `${name.slice(0, 200)}…` : name).replaceAll('\0', '\\0');
}

/**
 * Returns a transform that passes bytes on. Beyond the limit it throws the error that `refusal` makes from
 * `more than N bytes`.
 */
export function limitedTo(
  limit: number,
  refusal: (excess: string) => Error,
): (source: AsyncIterable<Uint8Array>) => AsyncGenerator<Uint8Array> {
  return async function* passOn(source) {
    let total = 0;
    for await (const chunk of source) {
      total += chunk.length;
      if (total > limit) throw refusal(`more than ${limit} bytes`);
      yield chunk;
    }
  };
}
