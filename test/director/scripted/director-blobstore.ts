import { randomUUID } from 'node:crypto';
import { isObject } from '../../../src/platform/json.ts';
import type { DavServer } from '../../../src/agent/testing/dav-server.ts';

export type Json = Readonly<Record<string, unknown>>;

/** Compiled packages by name, as they are in a spec. */
export type CompiledPackages = Readonly<Record<string, Json>>;

/**
 * The blobstore of a director. Agents log in to it, or get signed URLs (bosh: blobstore.enable_signed_urls).
 */
export class DirectorBlobstore {
  readonly #dav: DavServer;
  readonly hasSignedUrls: boolean;

  constructor(dav: DavServer, { hasSignedUrls = false }: { hasSignedUrls?: boolean } = {}) {
    this.#dav = dav;
    this.hasSignedUrls = hasSignedUrls;
  }

  /** The blobstores of env.bosh and of update_settings. With signed URLs they contain no login. */
  get settings(): readonly Json[] {
    const { provider, options } = this.#dav.settings;
    if (!this.hasSignedUrls) return [{ provider, options }];
    const { endpoint, tls } = options;
    return [{ provider, options: { endpoint, tls } }];
  }

  /** Stores a blob and returns its id. */
  add(content: Buffer): string {
    const id = randomUUID();
    this.#dav.add(id, content);
    return id;
  }

  /** Returns a blob that an agent has uploaded. Throws if there is none. */
  read(id: string): Buffer {
    const content = this.#dav.find(id);
    if (content === undefined) throw new Error(`the blobstore has no blob ${id}`);
    return content;
  }

  sign(method: 'GET' | 'PUT', id: string): string {
    return this.#dav.signedUrl(method, id);
  }

  /** Adds the key with a signed URL to each package, if URLs are signed. */
  signedPackages(packages: CompiledPackages, key: 'signed_url' | 'package_get_signed_url'): CompiledPackages {
    if (!this.hasSignedUrls) return packages;
    return Object.fromEntries(
      Object.entries(packages).map(([name, one]) => [
        name,
        { ...one, [key]: this.sign('GET', String(one['blobstore_id'])) },
      ]),
    );
  }
}

/** Returns a key of an agent's answer, which must be an object. */
export function keyOf(answer: unknown, key: string): unknown {
  if (!isObject(answer)) throw new Error(`an answer without ${key}: ${JSON.stringify(answer)}`);
  return answer[key];
}
