/** The credentials of a user of the registry. They are secret. Without them, requests are anonymous. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
}

/** Returns the value of an Authorization header (RFC 7617, UTF-8). */
export function basicAuthorization({ username, password }: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}
