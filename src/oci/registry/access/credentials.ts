/** Secret. Of a user of the registry; absent: everybody's rights. */
export interface RegistryCredentials {
  readonly username: string;
  readonly password: string;
}

/** The value of an Authorization header (RFC 7617, UTF-8). */
export function basicAuthorization({ username, password }: RegistryCredentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
}
