/** A one-character secret is not redacted: the gaps would reveal it. */
const minLength = 2;
/** The minimum length of a secret whose key does not mark it as secret. */
const minUnmarkedLength = 6;
const minNumberLength = 8;
const locationPattern = new RegExp(
  `^(?:${[
    String.raw`[\d.]+(?::\d+|/\d+)?`,
    String.raw`[\da-fA-F]*:[\da-fA-F:.]*(?:/\d+)?`,
    String.raw`(?:localhost|(?:[a-z\d-]+\.)+[a-z]{2,})(?::\d+)?`,
    String.raw`(?:~|\.{1,2})?/[\w./-]*`,
    String.raw`[a-z]+://[^\s@?]*`,
  ].join('|')})$`,
  'u',
);
/**
 * Values of options such as `keep_root_password`, never secrets: redacting them would reveal them and make
 * messages unreadable.
 */
const optionValues = /^(?:true|false|yes|no|on|off|null|none)$/iu;
const secretKeys =
  /(?:pass|password|passwd|passphrase|secret|token|credential|(?:api|access|account|client|private|secret|shared)[_-]?key|(?:^|[_-])key)(?:s|[_-]data)?$/iu;
/**
 * Keys whose values are names, not secrets: parts of create_vm's env, the name of a user, and Secrets of a
 * cluster.
 */
const nonSecretKeys = new Set([
  'group',
  'groups',
  'tags',
  'username',
  'image_pull_secrets',
  'imagePullSecrets',
]);
/**
 * Keys of the impersonated user below the key `user` of a kubeconfig. Their values are not secret there,
 * because errors of the API contain them. In any other place such a key may hold a secret.
 */
const impersonationKeys = new Set(['as', 'as-uid', 'as-groups']);

/**
 * Returns the strings of values whose contents are secret, whatever their shape, and the passwords of URLs
 * among them. Everything below a key for secrets counts, however short. Iterative, not recursive, because
 * YAML allows cycles and any depth.
 */
export function secretStrings(source: unknown): string[] {
  return stringsIn(
    source,
    (text, isSecret, isNumber) => isSecret || (!isNumber && text.length >= minUnmarkedLength),
  );
}

/**
 * Returns the secrets among variables, by name: all values except short ones and those that clearly name a
 * location (addresses, paths, URLs without a password), which messages need. A long number may be a PIN.
 */
export function variableSecrets(variables: Readonly<Record<string, unknown>>): string[] {
  return stringsIn(variables, (text, isSecret, isNumber) => {
    if (isSecret) return true;
    return isNumber
      ? text.length >= minNumberLength
      : text.length >= minUnmarkedLength && !locationPattern.test(text);
  });
}

/**
 * Returns the secrets among values of which only some are secret: those that a key, a URL or a PEM header
 * marks.
 */
export function secretsInFlags(source: unknown): string[] {
  return stringsIn(source, (text, isSecret) => isSecret || text.includes('PRIVATE KEY-----'));
}

/** Returns the passwords of URLs in a value. The URLs themselves name servers and are not secret. */
export function urlPasswords(source: unknown): string[] {
  return stringsIn(source, () => false);
}

/**
 * True for keys whose values are names. The `key` of a toleration or selector is the name of a taint or
 * label.
 */
const isName = (key: string, parent: object, parentKey: string | undefined): boolean =>
  nonSecretKeys.has(key) ||
  (key === 'key' && 'operator' in parent) ||
  (parentKey === 'user' && impersonationKeys.has(key));

function stringsIn(
  source: unknown,
  isIncluded: (text: string, isSecret: boolean, isNumber: boolean) => boolean,
): string[] {
  const found = new Set<string>();
  const seen = new Map<object, boolean>();
  const open: { readonly value: unknown; readonly isSecret: boolean; readonly parentKey?: string }[] = [
    { value: source, isSecret: false },
  ];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, isSecret, parentKey } = next;
    if (typeof value === 'string') {
      if (isIncluded(value, isSecret, false)) found.add(value);
      for (const password of passwordsOf(value)) found.add(password);
    }
    if (typeof value === 'number' || typeof value === 'bigint') {
      if (isIncluded(String(value), isSecret, true)) found.add(String(value));
    }
    if (typeof value !== 'object' || value === null) continue;
    const before = seen.get(value);
    if (before === true || before === isSecret) continue;
    seen.set(value, isSecret);
    for (const [key, item] of Object.entries(value)) {
      if (!isName(key, value, parentKey))
        open.push({ value: item, isSecret: isSecret || secretKeys.test(key), parentKey: key });
    }
  }
  return [...found].filter((secret) => secret.trim().length >= minLength && !optionValues.test(secret));
}

/**
 * Returns the possible passwords of URLs. Each `@` before a blank or a quotation mark may end one, because a
 * password may contain characters that a URL should encode.
 */
function passwordsOf(text: string): string[] {
  return [...text.matchAll(/[a-z][a-z0-9+.-]*:\/\/[^\s:@/"']*:([^\s"']+)@/giu)].flatMap(([, tail = '']) => {
    const parts = tail.split('@');
    return parts.map((_, index) => parts.slice(0, index + 1).join('@'));
  });
}
