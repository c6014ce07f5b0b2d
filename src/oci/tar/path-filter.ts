/** 4 MiB, of which the system allocates only the used part. */
const wordCount = 1 << 20;
const hashes = 4;

/**
 * Remembers paths in a bounded amount of memory, however many there are (a Bloom filter). `has` is always
 * right for a path that was added. For another path it is wrong once in a million with 300,000 paths, the
 * files of a large root, and once in 6,000 with a million paths.
 */
export class BloomFilter {
  readonly #bits = new Uint32Array(wordCount);

  add(path: string): void {
    for (const bit of bitsOf(path)) this.#bits[bit >>> 5] = this.#word(bit) | (1 << (bit & 31));
  }

  has(path: string): boolean {
    return bitsOf(path).every((bit) => (this.#word(bit) & (1 << (bit & 31))) !== 0);
  }

  #word(bit: number): number {
    return this.#bits[bit >>> 5] ?? 0;
  }
}

/** All hashes are derived from two (Kirsch and Mitzenmacher, "Less Hashing, Same Performance"). */
function bitsOf(path: string): readonly number[] {
  let [one, other] = [0x811c9dc5, 0x9747b28c];
  for (let index = 0; index < path.length; index += 1) {
    const code = path.charCodeAt(index);
    one = Math.imul(one ^ code, 0x01000193);
    other = Math.imul(other ^ code, 0x85ebca6b);
    other ^= other >>> 13;
  }
  const [first, step] = [mixed(one), mixed(other) | 1];
  return Array.from(
    { length: hashes },
    (_, index) => (first + Math.imul(index, step)) & (wordCount * 32 - 1),
  );
}

/** Makes each bit of the hash depend on all others (MurmurHash3, fmix32). */
function mixed(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  const more = Math.imul(half ^ (half >>> 13), 0xc2b2ae35);
  return more ^ (more >>> 16);
}
