import { ProductError } from '../../errors/product-error.ts';
import { basicAuthorization } from '../../oci/registry/access/credentials.ts';
import type { Patience } from './ask.ts';
import { ask } from './ask.ts';
import { jsonAnswer, membersOf, unexpected } from './json-answer.ts';

export interface Client {
  readonly client: string;
  /** Secret. */
  readonly clientSecret: string;
}

/** What /info says, which a director tells everybody (bosh-director: api/controllers/info_controller.rb). */
export interface DirectorInfo {
  readonly uuid: unknown;
  /** Of the UAA; undefined: the director has users of its own (api/local_identity_provider.rb, uaa_identity_provider.rb). */
  readonly uaa: string | undefined;
}

/** Asks a director who it is and who knows its users. The errors of `ask`, and DIRECTOR_ERROR for another answer. */
export async function directorInfo(patience: Patience, whom: string, url: string): Promise<DirectorInfo> {
  const answer = await ask(patience, { whom, method: 'GET', url: `${url}/info` });
  const { uuid, user_authentication: authentication } = membersOf(jsonAnswer(whom, answer));
  const { type, options } = membersOf(authentication);
  if (type === 'basic') return { uuid, uaa: undefined };
  const { url: uaa } = membersOf(options);
  if (type !== 'uaa' || typeof uaa !== 'string')
    throw unexpected(whom, 'with an /info that names neither users of its own nor a UAA');
  if (!URL.canParse(uaa) || new URL(uaa).protocol !== 'https:')
    throw new ProductError(
      'DIRECTOR_ERROR',
      `${whom} names a UAA that is not https, and no secret is sent there; give the director an https uaa.url`,
    );
  return { uuid, uaa: uaa.replace(/\/+$/u, '') };
}

/**
 * The Authorization header for the director: the client's own name and secret, or a token that the UAA gives for them, as the
 * director's own jobs ask for it (cf-uaa-lib: token_issuer.rb). The errors of `ask`, and DIRECTOR_ERROR where the UAA gives none.
 */
export async function authorizationFor(
  patience: Patience,
  { uaa }: DirectorInfo,
  { client, clientSecret }: Client,
): Promise<string> {
  if (uaa === undefined) return basicAuthorization({ username: client, password: clientSecret });
  const whom = `the UAA at ${uaa}`;
  const answer = await ask(patience, {
    whom,
    method: 'POST',
    url: `${uaa}/oauth/token`,
    headers: { ...clientHeaders(client, clientSecret), 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
  });
  if (answer.status === 400 || answer.status === 401 || answer.status === 403)
    throw new ProductError(
      'DIRECTOR_ERROR',
      `${whom} does not accept client '${client}' or its secret (${answer.status}); check director.client and director.client_secret of the CPI's configuration`,
    );
  const { access_token: token } = membersOf(jsonAnswer(whom, answer));
  // what a header can hold
  if (typeof token !== 'string' || !/^[\x21-\x7e]+$/u.test(token)) throw unexpected(whom, 'without a token');
  return `Bearer ${token}`;
}

/** A UAA decodes both (RFC 6749, 2.3.1), some only where they are told to (uaa: ClientBasicAuthenticationFilter.java). */
const clientHeaders = (client: string, secret: string): Readonly<Record<string, string>> => ({
  authorization: basicAuthorization({
    username: encodeURIComponent(client),
    password: encodeURIComponent(secret),
  }),
  'x-cf-encoded-credentials': 'true',
});
