/** Bytes: a kubeconfig with the keys of a hundred clusters has half a megabyte. */
const maxBytes = 16 * 1024 * 1024;

/**
 * Reads the text of a file, which may be a pipe. Throws as node:fs does, and EFBIG if the file is too large.
 * node:fs is loaded on use: most calls of the CPI's executable read no file here, and it costs a millisecond
 * (`npm run bench:cpi`).
 */
export function readTextFile(path: string): string {
  const fs = process.getBuiltinModule('node:fs');
  const file = fs.openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    for (let length = 0; ;) {
      const chunk = Buffer.allocUnsafe(1 << 16);
      const read = fs.readSync(file, chunk);
      if (read === 0) return Buffer.concat(chunks).toString('utf8');
      length += read;
      if (length > maxBytes) throw Object.assign(new Error(`'${path}' is too large`), { code: 'EFBIG' });
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    fs.closeSync(file);
  }
}
