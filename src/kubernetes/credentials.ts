/** What one request says who we are by. Secret. */
export interface Credentials {
  readonly token?: string | undefined;
  /** PEM; always together with `key`. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** Credentials that a program gives and that may expire within the life of this process. */
export interface CredentialSource {
  /** Those at hand where they have not expired, else new ones. Rejects with INVALID_CONFIG. */
  readonly current: () => Promise<Credentials>;
  /** All that the program has given so far, without asking it: those that have expired are secret, too. */
  readonly issued: () => Promise<readonly Credentials[]>;
  /** The server did not accept the present ones (401): `current` gets others. */
  readonly refused: () => void;
}
