import { toJson } from '../../bosh/yaml/exact-json.ts';
import { writeDurably } from '../durable-file.ts';
import { readJsonCache } from '../json-cache.ts';

export interface JobSummary {
  readonly name: string;
  /** The paths of the rendered templates below the job's directory. */
  readonly destinations: readonly string[];
  /** The dotted names of the properties in the job's spec. */
  readonly properties: readonly string[];
}

export interface ReleaseSummary {
  readonly kind: 'release';
  readonly name: string;
  readonly version: string;
  readonly jobs: readonly JobSummary[];
}

export interface StemcellSummary {
  readonly kind: 'stemcell';
  readonly name: string;
  readonly version: string;
  readonly apiVersion: number;
  readonly formats: readonly string[];
  readonly cloudProperties: Readonly<Record<string, unknown>>;
}

export type ArchiveSummary = ReleaseSummary | StemcellSummary;

/** Increase this whenever the shape of a summary changes. Every archive is then opened once more. */
const version = 2;

/**
 * Summaries of archives that were opened before, by the digest of the whole archive. An unchanged deployment
 * is recognised without unpacking anything. This is only a cache.
 */
export class ArchiveCatalog {
  readonly #path: string;
  readonly #summaries: Map<string, ArchiveSummary>;

  private constructor(path: string, summaries: Map<string, ArchiveSummary>) {
    this.#path = path;
    this.#summaries = summaries;
  }

  static async open(path: string): Promise<ArchiveCatalog> {
    return new ArchiveCatalog(path, new Map(Object.entries(await readSummaries(path))));
  }

  find<K extends ArchiveSummary['kind']>(
    digest: string,
    kind: K,
  ): Extract<ArchiveSummary, { kind: K }> | undefined {
    const summary = this.#summaries.get(digest);
    return summary?.kind === kind ? (summary as Extract<ArchiveSummary, { kind: K }>) : undefined;
  }

  async add(digest: string, summary: ArchiveSummary): Promise<void> {
    this.#summaries.set(digest, summary);
    await writeDurably(this.#path, `${toJson({ version, archives: Object.fromEntries(this.#summaries) })}\n`);
  }
}

async function readSummaries(path: string): Promise<Record<string, ArchiveSummary>> {
  const value = ((await readJsonCache(path)) ?? {}) as {
    readonly version?: number;
    readonly archives?: Record<string, ArchiveSummary>;
  };
  return value.version === version ? (value.archives ?? {}) : {};
}
