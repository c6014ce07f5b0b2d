import { createHash } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';
import { isObject, type JsonObject } from '../../platform/json.ts';
import { type BlobLocation, download, upload } from './http-transfer.ts';
import type { RemoteBlobstore } from './remote-blobstore.ts';

/** A WebDAV blobstore of a director (bosh-davcli: cmd/get.go, put.go; the path is that of its client). */
export class DavBlobstore implements RemoteBlobstore {
  readonly #endpoint: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #ca: string | undefined;

  constructor(options: JsonObject) {
    const { endpoint, user, password } = options;
    if (typeof endpoint !== 'string' || !/^https?:\/\/[^/?#@]+/u.test(endpoint) || !URL.canParse(endpoint))
      throw new ProductError(
        'AGENT_SETTINGS_INVALID',
        'the option endpoint of the blobstore dav must be an http or https URL without user and password',
      );
    this.#endpoint = endpoint.replace(/\/+$/u, '');
    this.#headers =
      typeof user === 'string' && typeof password === 'string'
        ? { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
        : {};
    this.#ca = certificateAuthority(options);
  }

  get(id: string, path: string): Promise<void> {
    return download(this.#location(id), path);
  }

  put(id: string, path: string): Promise<void> {
    return upload(this.#location(id), path);
  }

  #location(id: string): BlobLocation {
    const prefix = createHash('sha1').update(id).digest('hex').slice(0, 2);
    return {
      url: new URL(`${this.#endpoint}/${prefix}/${encodeURIComponent(id)}`),
      headers: this.#headers,
      ca: this.#ca,
    };
  }
}

/** Returns `tls.cert.ca` of a blobstore's options; undefined if there is none. */
export function certificateAuthority({ tls }: JsonObject): string | undefined {
  const cert = isObject(tls) ? tls['cert'] : undefined;
  const ca = isObject(cert) ? cert['ca'] : undefined;
  return typeof ca === 'string' && ca !== '' ? ca : undefined;
}
