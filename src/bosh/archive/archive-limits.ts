const mebibyte = 1024 * 1024;

/**
 * What an archive may hold: a few kilobytes of gzip must fill neither a disk nor the memory. All are far
 * above what releases, stemcells and images of the field have.
 */
export const archiveLimits = {
  /** Bytes of a manifest in it (release.MF, job.MF, stemcell.MF), and of any YAML file that is read whole. */
  manifest: 4 * mebibyte,
  /**
   * Bytes that it unpacks to: a heavy stemcell has about 3 GiB, a release with Windows' files in it 9 GiB.
   */
  total: 16 * 1024 * mebibyte,
  /**
   * Bytes that all jobs of a release unpack to together: templates of a few kilobytes. Each may be a link to
   * one archive.
   */
  jobs: 1024 * mebibyte,
  /** Bytes of all templates that are rendered at once, which are held. */
  templates: 64 * mebibyte,
  /** Files, folders and links; the root of a large stemcell has some 200,000. */
  entries: 300_000,
  /** Characters of all names and link targets together, which are held while it is unpacked. */
  names: 32 * mebibyte,
} as const;

/** Limits that a test may lower. */
export type ArchiveLimits = { readonly [Name in keyof typeof archiveLimits]: number };

/** PATH_MAX of Linux. */
const longestName = 4096;

/** Counts the entries of one archive as they pass. */
export class EntryCounter {
  readonly #limits: ArchiveLimits;
  #entries = 0;
  #names = 0;

  constructor(limits: ArchiveLimits = archiveLimits) {
    this.#limits = limits;
  }

  /** Why the next entry is not taken, by its name and what it links to; undefined where it is. */
  add(name: string, target: string): string | undefined {
    // a pax record may hold any text
    if (name.includes('\0') || target.includes('\0')) return 'has a NUL in its name or in what it links to';
    if (name.length > longestName || target.length > longestName)
      return `has a name or a target longer than ${longestName} characters`;
    this.#entries += 1;
    this.#names += name.length + target.length;
    if (this.#entries > this.#limits.entries)
      return `is one too many: an archive has ${this.#limits.entries} at most`;
    if (this.#names > this.#limits.names)
      return `brings all names to more than ${this.#limits.names} characters`;
    return undefined;
  }
}

/** Counts what several archives unpack to together: one limit for all of them. */
export class ByteBudget {
  readonly limits: ArchiveLimits;
  readonly entries: EntryCounter;
  #bytes = 0;

  constructor(limits: ArchiveLimits = archiveLimits) {
    this.limits = limits;
    this.entries = new EntryCounter(limits);
  }

  /** Passes bytes on and ends with the error, which is told `more than N bytes`, where there are too many. */
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

/** An entry's name as errors show it. */
export function printableName(name: string): string {
  return (name.length > 200 ? `${name.slice(0, 200)}…` : name).replaceAll('\0', '\\0');
}

/** Passes bytes on and ends with the error, which is told `more than N bytes`, where there are too many. */
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
