/**
 * The factors of apimachinery pkg/api/resource/suffix.go as exact fractions: value * numerator / denominator.
 */
const factors: Readonly<Record<string, readonly [bigint, bigint]>> = {
  n: [1n, 10n ** 9n],
  u: [1n, 10n ** 6n],
  m: [1n, 10n ** 3n],
  '': [1n, 1n],
  k: [10n ** 3n, 1n],
  M: [10n ** 6n, 1n],
  G: [10n ** 9n, 1n],
  T: [10n ** 12n, 1n],
  P: [10n ** 15n, 1n],
  E: [10n ** 18n, 1n],
  Ki: [2n ** 10n, 1n],
  Mi: [2n ** 20n, 1n],
  Gi: [2n ** 30n, 1n],
  Ti: [2n ** 40n, 1n],
  Pi: [2n ** 50n, 1n],
  Ei: [2n ** 60n, 1n],
};
const grammar =
  /^(?<sign>[+-]?)(?<whole>\d*)(?:\.(?<fraction>\d*))?(?<suffix>[eE][+-]?\d{1,3}|[numkMGTPE]i?|Ki)?$/u;
const binarySuffixes = ['Ei', 'Pi', 'Ti', 'Gi', 'Mi', 'Ki'] as const;

/** The whole numbers of MiB that a quantity can have in bytes (apimachinery: pkg/api/resource, int64). */
export const quantityRange = { min: 1, max: 2 ** 43 - 1 };

/**
 * Parses a Kubernetes quantity in thousandths (`100m` is 100n, `1Gi` is 1073741824000n), rounded up as
 * Kubernetes does. Undefined if the text is not a quantity (apimachinery pkg/api/resource/quantity.go).
 */
export function parseMilli(text: string): bigint | undefined {
  const match = grammar.exec(text);
  const { sign = '', whole = '', fraction = '', suffix = '' } = match?.groups ?? {};
  if (match === null || whole + fraction === '') {
    return undefined;
  }
  const factor = factorOf(suffix);
  if (factor === undefined) {
    return undefined;
  }
  const numerator = BigInt(whole + fraction) * factor[0] * 1000n;
  const denominator = 10n ** BigInt(fraction.length) * factor[1];
  const magnitude = numerator / denominator;
  const exact = magnitude * denominator === numerator;
  if (sign === '-') {
    return -magnitude;
  }
  return exact ? magnitude : magnitude + 1n;
}

/**
 * Parses a quantity in whole units (bytes for storage and memory), rounded up; undefined if the text is not a
 * quantity.
 */
export function parseQuantity(text: string): bigint | undefined {
  const milli = parseMilli(text);
  if (milli === undefined) {
    return undefined;
  }
  const units = milli / 1000n;
  return milli > units * 1000n ? units + 1n : units;
}

/** Formats bytes with the largest binary suffix that is exact: `1Gi`, `1500Mi`, `1000`. */
export function formatBytes(bytes: bigint): string {
  const exact = binarySuffixes.find((suffix) => {
    const unit = factors[suffix]?.[0] ?? 1n;
    return bytes !== 0n && bytes % unit === 0n;
  });
  return exact === undefined ? String(bytes) : `${bytes / (factors[exact]?.[0] ?? 1n)}${exact}`;
}

function factorOf(suffix: string): readonly [bigint, bigint] | undefined {
  if (!/^[eE][+-]?\d/u.test(suffix)) {
    return factors[suffix];
  }
  const exponent = Number(suffix.slice(1));
  return exponent >= 0 ? [10n ** BigInt(exponent), 1n] : [1n, 10n ** BigInt(-exponent)];
}
