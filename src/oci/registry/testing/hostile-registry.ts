import { createHash, randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { TestContext } from 'node:test';
import type { TestCertificate } from '../../../bosh/testing/certificates.ts';

/** Handles a request in place of the registry; undefined: the registry handles it as usual. */
export type Trouble = (
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<boolean> | boolean | undefined;

/**
 * A registry that keeps everything in memory. It follows the specification exactly, unless a test changes
 * that.
 */
export class HostileRegistry {
  readonly blobs = new Map<string, Buffer>();
  readonly manifests = new Map<string, Buffer>();
  /** The repositories that have a blob. */
  readonly owners = new Map<string, Set<string>>();
  readonly uploads = new Map<string, Buffer>();
  /** `PATCH /v2/…`, in order. The query of an upload's location is secret and left out. */
  readonly log: string[] = [];
  readonly authorizations: (string | undefined)[] = [];
  trouble: Trouble = () => undefined;
  acceptsChunks = true;
  /** The minimum size in bytes of each chunk but the last; undefined: any size. */
  minChunkLength: number | undefined;
  deletes = true;
  /** Uploads with a chunk that was too small. It must be the last one, so they accept no other. */
  readonly #short = new Set<string>();
  readonly #server;
  readonly #scheme: 'http' | 'https';

  constructor(certificate?: TestCertificate) {
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      this.#answer(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    };
    this.#scheme = certificate === undefined ? 'http' : 'https';
    this.#server =
      certificate === undefined
        ? createServer(listener)
        : createSecureServer({ cert: certificate.certificate, key: certificate.private_key }, listener);
  }

  /** Starts the registry: over TLS if there is a certificate, otherwise in plain http. */
  static async start(t: TestContext, certificate?: TestCertificate): Promise<HostileRegistry> {
    const registry = new HostileRegistry(certificate);
    await new Promise<void>((resolve) => {
      registry.#server.listen(0, '127.0.0.1', resolve);
    });
    t.after(() => registry.stop());
    return registry;
  }

  get origin(): string {
    return `${this.#scheme}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.origin);
    this.log.push(`${request.method ?? ''} ${url.pathname}`);
    this.authorizations.push(request.headers.authorization);
    if ((await this.trouble(request, response)) === true) return;
    const [, repository = '', kind, rest = ''] =
      /^\/v2\/(.+?)\/(blobs|manifests)\/(.*)$/u.exec(url.pathname) ?? [];
    if (kind === 'manifests') await this.#manifest(request, response, rest);
    else if (rest.startsWith('uploads/')) await this.#upload(request, response, { url, repository, rest });
    else answer(response, this.owners.get(rest)?.has(repository) === true ? 200 : 404);
  }

  async #manifest(request: IncomingMessage, response: ServerResponse, reference: string): Promise<void> {
    const body = await buffer(request);
    switch (request.method) {
      case 'PUT': {
        const digest = digestOf(body);
        this.manifests.set(digest, body);
        this.manifests.set(reference, body);
        answer(response, 201, { 'docker-content-digest': digest });
        return;
      }
      case 'DELETE':
        if (!this.deletes) refuse(response, 405, 'UNSUPPORTED');
        else answer(response, this.manifests.delete(reference) ? 202 : 404);
        return;
      default: {
        const manifest = this.manifests.get(reference);
        answer(response, manifest === undefined ? 404 : 200, {}, manifest);
      }
    }
  }

  async #upload(
    request: IncomingMessage,
    response: ServerResponse,
    { url, repository, rest }: { readonly url: URL; readonly repository: string; readonly rest: string },
  ): Promise<void> {
    const id = rest.slice('uploads/'.length);
    const headers = (upload: string): Record<string, string> => ({
      location: `/v2/${repository}/blobs/uploads/${upload}?state=secret-state%3D`,
      range: `0-${Math.max(0, (this.uploads.get(upload)?.length ?? 0) - 1)}`,
    });
    if (request.method === 'POST') {
      const mount = url.searchParams.get('mount') ?? '';
      const owners = this.owners.get(mount);
      if (owners?.has(url.searchParams.get('from') ?? '') === true) {
        owners.add(repository);
        answer(response, 201);
        return;
      }
      const upload = randomUUID();
      this.uploads.set(upload, Buffer.alloc(0));
      const { minChunkLength: smallest } = this;
      const minLength = smallest === undefined ? {} : { 'oci-chunk-min-length': String(smallest) };
      answer(response, 202, { ...headers(upload), ...minLength });
      return;
    }
    const previous = this.uploads.get(id);
    if (previous === undefined || url.searchParams.get('state') !== 'secret-state=') {
      refuse(response, 404, 'BLOB_UPLOAD_UNKNOWN');
      return;
    }
    if (request.method === 'DELETE') {
      this.uploads.delete(id);
      answer(response, 204);
    } else if (request.method === 'GET') answer(response, 204, headers(id));
    else if (request.method === 'PATCH' && !this.acceptsChunks) refuse(response, 405, 'UNSUPPORTED');
    else await this.#take(request, response, { id, previous, url, repository, headers });
  }

  async #take(
    request: IncomingMessage,
    response: ServerResponse,
    at: {
      readonly id: string;
      readonly previous: Buffer;
      readonly url: URL;
      readonly repository: string;
      readonly headers: (upload: string) => Record<string, string>;
    },
  ): Promise<void> {
    const { id, previous, url, repository, headers } = at;
    if (request.method === 'PATCH' && !request.headers['content-range']?.startsWith(`${previous.length}-`)) {
      request.resume();
      answer(response, 416, headers(id));
      return;
    }
    if (request.method === 'PATCH' && this.#short.has(id)) {
      request.resume();
      refuse(response, 400, 'SIZE_INVALID', 'a piece was too small');
      return;
    }
    const chunks = [previous];
    try {
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    } finally {
      this.uploads.set(id, Buffer.concat(chunks));
    }
    const whole = Buffer.concat(chunks);
    if (request.method === 'PATCH') {
      if (whole.length - previous.length < (this.minChunkLength ?? 0)) this.#short.add(id);
      answer(response, 202, headers(id));
      return;
    }
    const digest = url.searchParams.get('digest') ?? '';
    if (digestOf(whole) !== digest) {
      refuse(response, 400, 'DIGEST_INVALID');
      return;
    }
    this.uploads.delete(id);
    this.blobs.set(digest, whole);
    this.owners.set(digest, (this.owners.get(digest) ?? new Set()).add(repository));
    answer(response, 201, { 'docker-content-digest': digest });
  }
}

export const digestOf = (bytes: Uint8Array): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

export function answer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body: Buffer = Buffer.alloc(0),
): void {
  response.writeHead(status, { 'content-length': String(body.length), ...headers });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}

export function refuse(response: ServerResponse, status: number, code: string, message = ''): void {
  answer(response, status, {}, Buffer.from(JSON.stringify({ errors: [{ code, message }] })));
}
