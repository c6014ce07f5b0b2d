/** Addresses of simulated nodes and pods: 198.18.0.0/15, which no network routes (RFC 2544). */
const first = 0xc6120000;
const size = 0x20000;

const toText = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');

/** The addresses of the simulated pods. */
export class SimulatedAddresses {
  readonly #holders = new Map<string, string>();
  readonly #addresses = new Map<string, string>();
  #next = 1;

  /**
   * Returns the address that the pod requests, has or can have. Returns undefined if another pod has the
   * requested address. Idempotent.
   */
  take(uid: string, wanted: string | undefined): string | undefined {
    const address = wanted ?? this.#addresses.get(uid) ?? this.#free();
    const holder = this.#holders.get(address) ?? uid;
    if (holder !== uid) return undefined;
    this.#holders.set(address, uid);
    this.#addresses.set(uid, address);
    return address;
  }

  release(uid: string): void {
    const address = this.#addresses.get(uid);
    if (address === undefined) return;
    this.#addresses.delete(uid);
    this.#holders.delete(address);
  }

  /** Finds a free address round robin, so that a released address is not used again soon. */
  #free(): string {
    for (let tried = 0; tried < size; tried += 1) {
      const address = toText(first + this.#next);
      this.#next = (this.#next % (size - 2)) + 1;
      if (!this.#holders.has(address)) return address;
    }
    throw new Error('no free address in 198.18.0.0/15');
  }
}
