import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createTestAuthority } from '../../../kubernetes/testing/certificates.ts';
import { basicAuthorization } from '../../../oci/registry/access/credentials.ts';

export interface DirectorServerOptions {
  readonly uuid?: string;
  /** Default uaa, which is below /uaa of the same server. */
  readonly authentication?: 'uaa' | 'basic';
  /** Of the client, or the user's password. */
  readonly secret?: string;
  /** The UAA decodes a name and a secret where a header says so alone (its authentication.enableUriEncodingCompatibilityMode). */
  readonly isUaaCompatible?: boolean;
  /** Manifests by the names that deployments were given; null: the first deploy is under way. */
  readonly deployments: Readonly<Record<string, string | null>>;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as it is, all else as JSON. */
  readonly body?: unknown;
  /** Milliseconds between bytes that come after it for ever. */
  readonly trickle?: number;
}

export const clientSecret = 'director-pass-word';
const client = 'cpi';
const token = 'token-of-the-uaa';

/**
 * The part of a director's API that the CPI asks, with a certificate of a CA of its own (bosh-director:
 * api/controllers/info_controller.rb, deployments_controller.rb, base_controller.rb).
 */
export class DirectorServer {
  /** The section `director` of a CPI that may ask it. */
  readonly settings: { url: string; ca: string; client: string; client_secret: string };
  /** Requests so far, `GET /info` for instance. */
  readonly asked: string[] = [];
  /** Answers instead where it returns something; `count` is how often this was asked before. */
  onRequest: (request: string, count: number) => Answer | undefined = () => undefined;
  readonly #server: Server;
  readonly #options: DirectorServerOptions;

  private constructor(server: Server, ca: string, options: DirectorServerOptions) {
    const { port } = server.address() as AddressInfo;
    this.settings = {
      ...{ url: `https://127.0.0.1:${port}`, ca },
      ...{ client, client_secret: options.secret ?? clientSecret },
    };
    this.#server = server;
    this.#options = options;
    server.on('request', (request, response) => void this.#serve(request, response));
  }

  static async start(options: DirectorServerOptions): Promise<DirectorServer> {
    const authority = await createTestAuthority();
    const { certificate, key } = await authority.server({ ip: '127.0.0.1' });
    const server = createServer({ cert: certificate, key }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new DirectorServer(server, authority.ca, options);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = `${request.method} ${request.url}`;
    const count = this.asked.filter((one) => one === name).length;
    this.asked.push(name);
    const body = await text(request);
    const answer = this.onRequest(name, count) ?? this.#answer(request, body);
    const content = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? null);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    if (answer.trickle === undefined) return void response.end(content);
    response.write(content);
    const timer = setInterval(() => response.write(' '), answer.trickle);
    response.on('close', () => clearInterval(timer));
  }

  #answer({ method, url = '/', headers }: IncomingMessage, body: string): Answer {
    const { authentication = 'uaa', uuid = 'director-uuid', deployments } = this.#options;
    const { pathname, search } = new URL(url, this.settings.url);
    if (pathname === '/info') {
      const options = authentication === 'uaa' ? { url: `${this.settings.url}/uaa` } : {};
      return { status: 200, body: { uuid, user_authentication: { type: authentication, options } } };
    }
    if (pathname === '/uaa/oauth/token') {
      const isAsked = method === 'POST' && body === 'grant_type=client_credentials';
      if (!isAsked || !this.#isClient(headers)) return { status: 401, body: { error: 'unauthorized' } };
      return { status: 200, body: { access_token: token, token_type: 'bearer' } };
    }
    const basic = basicAuthorization({ username: client, password: this.settings.client_secret });
    if (headers.authorization !== (authentication === 'uaa' ? `Bearer ${token}` : basic))
      return { status: 401, body: `Not authorized: '${pathname}'\n` };
    if (pathname === '/deployments')
      return search.includes('exclude_configs=true')
        ? { status: 200, body: Object.keys(deployments).map((one) => ({ name: one, teams: [] })) }
        : { status: 500 };
    const deployment = decodeURIComponent(pathname.replace('/deployments/', ''));
    if (!Object.hasOwn(deployments, deployment)) return { status: 404, body: { code: 70_000 } };
    return { status: 200, body: { manifest: deployments[deployment] } };
  }

  /** As a UAA reads it (uaa: ClientBasicAuthenticationFilter.java). */
  #isClient({ authorization = '', 'x-cf-encoded-credentials': isEncoded }: IncomingHttpHeaders): boolean {
    const given = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString('utf8');
    const [, ...parts] = /^([^:]*):(.*)$/su.exec(given) ?? [];
    const isDecoded = this.#options.isUaaCompatible !== true || isEncoded === 'true';
    const [name, secret] = isDecoded ? parts.map(formDecoded) : parts;
    return name === client && secret === this.settings.client_secret;
  }
}

/** As Java's URLDecoder; what is no encoding matches nothing. */
function formDecoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
