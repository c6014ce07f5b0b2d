import { createHash, timingSafeEqual } from 'node:crypto';
import type { BrokerResponse } from './answer.ts';
import { badRequest, errorResponse } from './answer.ts';

/** Who may call, and the passwords that are good: two of them while one is being replaced. */
export interface BasicAuth {
  readonly username: string;
  readonly passwords: readonly string[];
}

/**
 * undefined where the header names the user and one of the passwords. Takes as long for a wrong one as for
 * a right one.
 */
export function checkAuthorization(
  header: string | undefined,
  { username, passwords }: BasicAuth,
): BrokerResponse | undefined {
  const encoded = /^Basic ([A-Za-z0-9+/]+={0,2})$/iu.exec(header ?? '')?.[1] ?? '';
  const given = digest(Buffer.from(encoded, 'base64').toString('utf8'));
  const matches = passwords.map((password) => timingSafeEqual(given, digest(`${username}:${password}`)));
  if (matches.includes(true)) return undefined;
  return errorResponse(
    401,
    'Unauthorized',
    "username or password is not the broker's; see cf update-service-broker",
  );
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

const minApiMinorVersion = 13;

/** undefined where the header names a version of the API that this broker speaks: 2.13 and up. */
export function checkApiVersion(header: string | undefined): BrokerResponse | undefined {
  const minor = Number(/^2\.([0-9]{1,4})$/u.exec(header ?? '')?.[1] ?? -1);
  if (minor >= minApiMinorVersion) return undefined;
  const description =
    header === undefined
      ? 'the header X-Broker-API-Version is missing; send 2.13 or a later 2.x'
      : 'X-Broker-API-Version names a version that this broker does not speak; send 2.13 or a later 2.x';
  return errorResponse(412, 'UnsupportedApiVersion', description);
}

/** Who asked the platform for a change, for the log. */
export interface OriginatingIdentity {
  readonly platform: string;
  readonly userId: string | undefined;
}

export type ParsedIdentity =
  | { readonly identity: OriginatingIdentity | undefined }
  | { readonly refused: BrokerResponse };

/** Reads X-Broker-API-Originating-Identity: a platform's name and an object, as JSON in base64. */
export function parseIdentity(header: string | undefined): ParsedIdentity {
  if (header === undefined) return { identity: undefined };
  const [, platform, encoded] = /^([A-Za-z0-9._-]{1,64}) ([A-Za-z0-9+/_-]+={0,2})$/u.exec(header) ?? [];
  const value =
    encoded === undefined ? undefined : parseJson(Buffer.from(encoded, 'base64').toString('utf8'));
  if (platform === undefined || typeof value !== 'object' || value === null || Array.isArray(value))
    return {
      refused: badRequest(
        'the header X-Broker-API-Originating-Identity must be a platform and an object, as JSON in base64',
      ),
    };
  const userId: unknown = Object.entries(value).find(([name]) => name === 'user_id')?.[1];
  return { identity: { platform, userId: typeof userId === 'string' ? userId.slice(0, 255) : undefined } };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
