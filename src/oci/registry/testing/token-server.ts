import { createSign, randomUUID, X509Certificate } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { TestCertificate } from '../../../bosh/testing/certificates.ts';
import { basicAuthorization, type RegistryCredentials } from '../access/authenticator.ts';

export interface TokenServerOptions {
  /** The certificate of the server; its key also signs the tokens. */
  readonly certificate: TestCertificate;
  readonly credentials: RegistryCredentials;
}

/** A token server as docker-registry trusts it (distribution: docs/spec/auth/jwt.md). */
export class TokenServer {
  readonly service = 'registry.test';
  readonly issuer = 'tokens.test';
  /** The scopes of the requested tokens. */
  readonly requests: (readonly string[])[] = [];
  /** The lifetime of a token in seconds; the registry accepts it for a minute more. */
  lifetime = 300;
  /** `<repository>:<action>`: rights that the user does not have. Tokens are issued without them. */
  readonly withheld = new Set<string>();
  readonly #options: TokenServerOptions;
  readonly #server;

  constructor(options: TokenServerOptions) {
    this.#options = options;
    const { certificate, private_key: key } = options.certificate;
    this.#server = createServer({ cert: certificate, key }, (request, response) =>
      this.#answer(request, response),
    );
  }

  static async start(t: Pick<TestContext, 'after'>, options: TokenServerOptions): Promise<TokenServer> {
    const server = new TokenServer(options);
    await new Promise<void>((resolve) => {
      server.#server.listen(0, '127.0.0.1', resolve);
    });
    t.after(async () => {
      server.#server.closeAllConnections();
      await new Promise((resolve) => {
        server.#server.close(resolve);
      });
    });
    return server;
  }

  get realm(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}/token`;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { searchParams } = new URL(request.url ?? '', this.realm);
    const scopes = searchParams.getAll('scope');
    this.requests.push(scopes);
    const { credentials } = this.#options;
    if (request.headers.authorization !== basicAuthorization(credentials)) {
      response.writeHead(401).end();
      return;
    }
    const token = this.#sign(scopes, credentials.username);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ token }));
  }

  #sign(scopes: readonly string[], subject: string): string {
    const { certificate, private_key: key } = this.#options.certificate;
    const now = Math.floor(Date.now() / 1000);
    const header = {
      ...{ typ: 'JWT', alg: 'RS256' },
      x5c: [new X509Certificate(certificate).raw.toString('base64')],
    };
    const claims = {
      ...{ iss: this.issuer, sub: subject, aud: this.service, jti: randomUUID() },
      ...{ iat: now, nbf: now - 10, exp: now + this.lifetime },
      access: scopes.map((scope) => {
        const [type, name = '', actions = ''] = scope.split(':');
        const given = actions.split(',').filter((action) => !this.withheld.has(`${name}:${action}`));
        return { type, name, actions: given };
      }),
    };
    const text = [header, claims]
      .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
      .join('.');
    return `${text}.${createSign('RSA-SHA256').update(text).sign(key, 'base64url')}`;
  }
}
