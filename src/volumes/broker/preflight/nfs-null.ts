const program = 100_003;
const version = 4;
const transactionId = 0x6e_66_73_30;
const lastFragment = 0x80_00_00_00;

/**
 * Returns a call of NFS's NULL procedure (RFC 5531 9, RFC 7530 16.1): a record mark, then ten 32-bit words.
 */
export function nfsNullCall(): Buffer {
  const words = [transactionId, 0, 2, program, version, 0, 0, 0, 0, 0];
  const bytes = Buffer.alloc(4 + words.length * 4);
  bytes.writeUInt32BE(lastFragment + words.length * 4, 0);
  words.forEach((word, index) => bytes.writeUInt32BE(word, 4 + index * 4));
  return bytes;
}

/** Returns true for a response to that call: success, or a server that has only other versions of NFS. */
export function isNfsAnswer(bytes: Buffer): boolean {
  if (bytes.length < 28) return false;
  const [id, type, status] = [4, 8, 12].map((at) => bytes.readUInt32BE(at));
  // the accept status is after a verifier without a body, as AUTH_NONE has it
  const accepted = bytes.readUInt32BE(24);
  return id === transactionId && type === 1 && status === 0 && (accepted === 0 || accepted === 2);
}
