import { createHash, timingSafeEqual } from 'node:crypto';
import type { BrokerResponse } from '../response.ts';
import { badRequest, errorResponse } from '../response.ts';
import { parseJsonObject } from '../../../platform/json.ts';

/** The credentials of the platform. There are two passwords while one is being replaced. */
export interface BasicAuth {
  readonly username: string;
  readonly passwords: readonly string[];
}

/**
 * Returns undefined if the header has the user name and one of the passwords, otherwise a 401. Compares in
 * constant time.
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

/** Returns undefined if the header names a supported API version (2.13 or a later 2.x), otherwise a 412. */
export function checkApiVersion(header: string | undefined): BrokerResponse | undefined {
  const minor = Number(/^2\.([0-9]{1,4})$/u.exec(header ?? '')?.[1] ?? -1);
  if (minor >= minApiMinorVersion) return undefined;
  const description =
    header === undefined
      ? 'the header X-Broker-API-Version is missing; send 2.13 or a later 2.x'
      : 'X-Broker-API-Version names a version that this broker does not support; send 2.13 or a later 2.x';
  return errorResponse(412, 'UnsupportedApiVersion', description);
}

/** The user who requested the change from the platform. It is used only in the log. */
interface OriginatingIdentity {
  readonly platform: string;
  readonly userId: string | undefined;
}

type ParsedIdentity =
  | { readonly identity: OriginatingIdentity | undefined }
  | { readonly refused: BrokerResponse };

/** Parses X-Broker-API-Originating-Identity: the name of a platform and an object, as JSON in base64. */
export function parseIdentity(header: string | undefined): ParsedIdentity {
  if (header === undefined) return { identity: undefined };
  const [, platform, encoded] = /^([A-Za-z0-9._-]{1,64}) ([A-Za-z0-9+/_-]+={0,2})$/u.exec(header) ?? [];
  const value = parseJsonObject(Buffer.from(encoded ?? '', 'base64').toString('utf8'));
  if (platform === undefined || value === undefined)
    return {
      refused: badRequest(
        'the header X-Broker-API-Originating-Identity must be a platform and an object, as JSON in base64',
      ),
    };
  const userId = Object.hasOwn(value, 'user_id') ? value['user_id'] : undefined;
  return { identity: { platform, userId: typeof userId === 'string' ? userId.slice(0, 255) : undefined } };
}
