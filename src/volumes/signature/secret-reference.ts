/**
 * The place of a secret that the driver reads when it mounts; it stands in `mount_config` as the password.
 */
export interface SecretReference {
  /** `file`: a file on the cell that has the secret and nothing else, apart from one newline at its end. */
  readonly store: 'credhub' | 'file';
  /** The name of a credential, or an absolute path: parts of letters, digits, dots, dashes, underscores. */
  readonly name: string;
}

const part = '[A-Za-z0-9_-][A-Za-z0-9._-]*';
const form = new RegExp(String.raw`^\(\((credhub|file):((?:/${part})+)\)\)$`, 'u');
const relative = new RegExp(`^${part}(?:/${part})*$`, 'u');

/**
 * The reference that a password is, as in `((credhub:/volumes/team/photos))`; undefined: it is a password.
 */
export function parseSecretReference(password: string): SecretReference | undefined {
  const [, store, name] = form.exec(password) ?? [];
  if (name === undefined || (store !== 'credhub' && store !== 'file')) return undefined;
  return { store, name };
}

export const formatSecretReference = ({ store, name }: SecretReference): string => `((${store}:${name}))`;

/**
 * Whether a path can follow a prefix in the name of a reference: it has no empty part and none with a dot
 * first.
 */
export const isSecretPath = (path: string): boolean => relative.test(path);

/** Whether the name lies below a prefix: the driver reads no secret outside of its own one. */
export const isBelowPrefix = ({ name }: SecretReference, prefix: string): boolean =>
  name.startsWith(`${prefix.replace(/\/+$/u, '')}/`);
