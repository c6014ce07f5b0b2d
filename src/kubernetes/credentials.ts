/** The credentials of one request. Secret. */
export interface Credentials {
  readonly token?: string | undefined;
  /** PEM; always together with `key`. */
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

/** Credentials from a program. They may expire while this process runs. */
export interface CredentialSource {
  /** Returns the cached credentials if they have not expired, else new ones. Rejects with INVALID_CONFIG. */
  readonly current: () => Promise<Credentials>;
  /**
   * Returns all credentials that the program has issued so far, without running it. Expired ones are secret,
   * too.
   */
  readonly issued: () => Promise<readonly Credentials[]>;
  /**
   * Reports that the server rejected the current credentials (401). The next call of `current` gets new ones.
   */
  readonly refused: () => void;
}
