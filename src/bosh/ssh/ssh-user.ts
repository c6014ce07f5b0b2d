/**
 * True for a name that `bosh ssh` gives to an account of one session (bosh-cli: director/ssh_opts.go); no
 * system user has one.
 */
export function isSshUser(name: string): boolean {
  // useradd takes 32 characters
  return /^bosh_[a-z0-9]{1,27}$/.test(name);
}

/**
 * The beginning of names that a `user_regex` stands for: `^bosh_` and lower-case letters and digits, as the
 * bosh CLI and the director send it. Undefined for any other expression: none of a peer's is ever run.
 */
export function sshUserPrefix(expression: string): string | undefined {
  return /^\^(bosh_[a-z0-9]{0,27})$/.exec(expression)?.[1];
}

/** True for one public key in the form of sshd(8), without options before it. */
export function isPublicKey(text: string): boolean {
  return (
    text.length <= 16_384 &&
    /^(ssh-(rsa|ed25519)|ecdsa-sha2-nistp(256|384|521)) [A-Za-z0-9+/]+={0,2}( [\x20-\x7e]*)?$/.test(text)
  );
}
