/**
 * A reference to a secret that the driver reads when it mounts. `mount_config` contains it instead of the
 * password.
 */
export interface SecretReference {
  /** `file` is a file on the cell that contains only the secret and at most one newline at its end. */
  readonly store: 'credhub' | 'file';
  /**
   * The name of a credential, or an absolute path. Its parts have letters, digits, dots, dashes and
   * underscores.
   */
  readonly name: string;
}

const part = '[A-Za-z0-9_-][A-Za-z0-9._-]*';
const form = new RegExp(String.raw`^\(\((credhub|file):((?:/${part})+)\)\)$`, 'u');
const relative = new RegExp(`^${part}(?:/${part})*$`, 'u');

/**
 * Parses a password such as `((credhub:/volumes/team/photos))`. Returns undefined if it is not a reference,
 * but the password itself.
 */
export function parseSecretReference(password: string): SecretReference | undefined {
  const [, store, name] = form.exec(password) ?? [];
  if (name === undefined || (store !== 'credhub' && store !== 'file')) return undefined;
  return { store, name };
}

export const formatSecretReference = ({ store, name }: SecretReference): string => `((${store}:${name}))`;

/**
 * Returns true if a path can follow a prefix in the name of a reference: it has no empty parts and no leading
 * dots.
 */
export const isSecretPath = (path: string): boolean => relative.test(path);

/** Returns true if the name is below a prefix. The driver reads no secret outside of its own prefix. */
export const isBelowPrefix = ({ name }: SecretReference, prefix: string): boolean =>
  name.startsWith(`${prefix.replace(/\/+$/u, '')}/`);
