/**
 * Returns true for a name that `bosh ssh` gives to the account of one session (bosh-cli:
 * director/ssh_opts.go). No system user has such a name.
 */
export function isSshUser(name: string): boolean {
  // useradd allows at most 32 characters.
  return /^bosh_[a-z0-9]{1,27}$/.test(name);
}

/**
 * Returns the name prefix for a `user_regex`: `^bosh_` and lower-case letters and digits, as the bosh CLI and
 * the director send it. Returns undefined for any other expression, because a client's expression is never
 * evaluated.
 */
export function sshUserPrefix(expression: string): string | undefined {
  return /^\^(bosh_[a-z0-9]{0,27})$/.exec(expression)?.[1];
}

/** Returns true for one public key in the format of sshd(8), without options before it. */
export function isPublicKey(text: string): boolean {
  return (
    text.length <= 16_384 &&
    /^(ssh-(rsa|ed25519)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+={0,2}( [\x20-\x7e]*)?$/.test(text)
  );
}
